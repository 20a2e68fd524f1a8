#include "torchdyn/c_api/torchdyn.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "absl/status/status.h"

#include "torchdyn/c_api/dlpack.h"
#include "torchdyn/c_api/package_handle.h"
#include "torchdyn/package/format/container.h"
#include "torchdyn/package/format/manifest.h"
#include "torchdyn/package/format/mapped_file.h"

// Opaque to C.
struct torchdyn_package {
  std::unique_ptr<torchdyn::PackageHandle> handle;
  std::vector<std::string> methods;
  size_t inputs = 0, outputs = 0;
};

struct torchdyn_trainer {
  std::unique_ptr<torchdyn::TrainerHandle> handle;
};

namespace {

using torchdyn::PlainTensor;

struct StatusRow {
  absl::StatusCode code;
  torchdyn_status status;
};
constexpr StatusRow kStatuses[] = {
    {absl::StatusCode::kOk, TORCHDYN_OK},
    {absl::StatusCode::kInvalidArgument, TORCHDYN_INVALID_ARGUMENT},
    {absl::StatusCode::kNotFound, TORCHDYN_NOT_FOUND},
    {absl::StatusCode::kDataLoss, TORCHDYN_DATA_LOSS},
    {absl::StatusCode::kFailedPrecondition, TORCHDYN_FAILED_PRECONDITION},
    {absl::StatusCode::kOutOfRange, TORCHDYN_OUT_OF_RANGE},
    {absl::StatusCode::kUnimplemented, TORCHDYN_UNIMPLEMENTED},
    {absl::StatusCode::kResourceExhausted, TORCHDYN_RESOURCE_EXHAUSTED},
    {absl::StatusCode::kUnavailable, TORCHDYN_UNAVAILABLE},
    {absl::StatusCode::kPermissionDenied, TORCHDYN_PERMISSION_DENIED},
};

void set_error(char** error, const char* message) noexcept {
  if (!error) return;
  *error = static_cast<char*>(std::malloc(std::strlen(message) + 1));
  if (*error) std::strcpy(*error, message);
}

// Runs what may throw, and returns what C can take.
template <class Run>
torchdyn_status guarded(char** error, Run run) noexcept {
  try {
    const absl::Status status = run();
    for (const StatusRow& row : kStatuses) {
      if (row.code != status.code()) continue;
      if (!status.ok()) set_error(error, std::string(status.message()).c_str());
      return row.status;
    }
    set_error(error, std::string(status.message()).c_str());
  } catch (const std::bad_alloc&) {
    set_error(error, "no memory");
    return TORCHDYN_RESOURCE_EXHAUSTED;
  } catch (const std::exception& exception) {
    set_error(error, exception.what());
  } catch (...) {
    set_error(error, "an exception of unknown type");
  }
  return TORCHDYN_INTERNAL;
}

absl::Status load(const char* path, const char* public_key, torchdyn_package** package) {
  if (!path || !public_key || !package) return absl::InvalidArgumentError("a null pointer");
  auto handle = torchdyn::open_package(path, public_key);
  if (!handle.ok()) return handle.status();
  auto loaded = std::make_unique<torchdyn_package>();
  loaded->handle = *std::move(handle);
  auto manifest = torchdyn::parse_manifest(loaded->handle->manifest());
  if (!manifest.ok()) return manifest.status();
  for (const torchdyn::PackagedMethod& method : manifest->methods) {
    loaded->methods.push_back(method.name);
    for (const torchdyn::PackagedVariant& v : method.variants) {
      loaded->inputs = std::max(loaded->inputs, static_cast<size_t>(v.arguments));
      loaded->outputs = std::max(loaded->outputs, v.results.size());
    }
  }
  *package = loaded.release();
  return absl::OkStatus();
}

// Lets go of outputs unless all were made.
struct Outputs {
  DLManagedTensor** list;
  size_t made = 0;
  bool complete = false;

  ~Outputs() {
    for (size_t i = 0; i < made && !complete; ++i) list[i]->deleter(list[i]);
  }
};

absl::StatusOr<std::vector<PlainTensor>> read_inputs(const void* const* inputs, size_t count) {
  if (count > 0 && !inputs) return absl::InvalidArgumentError("a null pointer");
  std::vector<PlainTensor> read;
  for (size_t i = 0; i < count; ++i) {
    auto tensor = torchdyn::from_dlpack(static_cast<const DLTensor*>(inputs[i]), i);
    if (!tensor.ok()) return tensor.status();
    read.push_back(*std::move(tensor));
  }
  return read;
}

absl::Status call(const torchdyn_package* package, const char* method, const void* const* inputs,
                  size_t input_count, DLManagedTensor** outputs, size_t capacity, size_t* count) {
  if (!package || !method || !count || (capacity > 0 && !outputs))
    return absl::InvalidArgumentError("a null pointer");
  auto arguments = read_inputs(inputs, input_count);
  if (!arguments.ok()) return arguments.status();
  auto results = package->handle->call(method, *arguments);
  if (!results.ok()) return results.status();
  if (results->size() > capacity)
    return absl::InvalidArgumentError("there are " + std::to_string(results->size()) +
                                      " outputs, and room for " + std::to_string(capacity));
  Outputs made{outputs};
  for (const PlainTensor& result : *results) {
    auto out = torchdyn::to_dlpack(result);
    if (!out.ok()) return out.status();
    outputs[made.made++] = *out;
  }
  made.complete = true;
  *count = made.made;
  return absl::OkStatus();
}

absl::Status train(const torchdyn_package* package, const char* optimizer,
                   torchdyn_trainer** trainer) {
  if (!package || !trainer) return absl::InvalidArgumentError("a null pointer");
  auto handle = package->handle->train(optimizer ? optimizer : "");
  if (!handle.ok()) return handle.status();
  *trainer = new torchdyn_trainer{*std::move(handle)};
  return absl::OkStatus();
}

absl::Status step(torchdyn_trainer* trainer, const void* const* inputs, size_t input_count,
                  double* loss) {
  if (!trainer) return absl::InvalidArgumentError("a null pointer");
  auto arguments = read_inputs(inputs, input_count);
  if (!arguments.ok()) return arguments.status();
  auto result = trainer->handle->step(*arguments);
  if (result.ok() && loss) *loss = *result;
  return result.status();
}

absl::Status save(const torchdyn_package* package, const char* path) {
  if (!package || !path) return absl::InvalidArgumentError("a null pointer");
  return package->handle->save(path);
}

absl::Status verify(const char* path) {
  if (!path) return absl::InvalidArgumentError("a null pointer");
  auto file = torchdyn::MappedFile::open(path);
  if (!file.ok()) return file.status();
  auto container = torchdyn::Container::parse((*file)->bytes());
  return container.ok() ? container->check_all() : container.status();
}

}  // namespace

int torchdyn_api_version(void) { return TORCHDYN_API_VERSION; }

torchdyn_status torchdyn_load(const char* path, torchdyn_package** package, char** error) {
  return guarded(error, [&] { return load(path, "", package); });
}

torchdyn_status torchdyn_load_signed(const char* path, const char* public_key,
                                     torchdyn_package** package, char** error) {
  return guarded(error, [&] {
    if (public_key && *public_key == '\0') return absl::InvalidArgumentError("an empty key");
    return load(path, public_key, package);
  });
}

void torchdyn_free(torchdyn_package* package) { delete package; }

const char* torchdyn_manifest(const torchdyn_package* package) {
  return package ? package->handle->manifest().c_str() : nullptr;
}

size_t torchdyn_input_count(const torchdyn_package* package) {
  return package ? package->inputs : 0;
}

size_t torchdyn_output_count(const torchdyn_package* package) {
  return package ? package->outputs : 0;
}

torchdyn_status torchdyn_call(const torchdyn_package* package, const void* const* inputs,
                              size_t input_count, struct DLManagedTensor** outputs, size_t capacity,
                              size_t* count, char** error) {
  return torchdyn_call_method(package, torchdyn::kMainMethod.data(), inputs, input_count, outputs,
                              capacity, count, error);
}

torchdyn_status torchdyn_call_method(const torchdyn_package* package, const char* method,
                                     const void* const* inputs, size_t input_count,
                                     struct DLManagedTensor** outputs, size_t capacity,
                                     size_t* count, char** error) {
  return guarded(
      error, [&] { return call(package, method, inputs, input_count, outputs, capacity, count); });
}

size_t torchdyn_method_count(const torchdyn_package* package) {
  return package ? package->methods.size() : 0;
}

const char* torchdyn_method_name(const torchdyn_package* package, size_t index) {
  return package && index < package->methods.size() ? package->methods[index].c_str() : nullptr;
}

torchdyn_status torchdyn_save(const torchdyn_package* package, const char* path, char** error) {
  return guarded(error, [&] { return save(package, path); });
}

torchdyn_status torchdyn_train(const torchdyn_package* package, const char* optimizer,
                               torchdyn_trainer** trainer, char** error) {
  return guarded(error, [&] { return train(package, optimizer, trainer); });
}

torchdyn_status torchdyn_train_step(torchdyn_trainer* trainer, const void* const* inputs,
                                    size_t input_count, double* loss, char** error) {
  return guarded(error, [&] { return step(trainer, inputs, input_count, loss); });
}

void torchdyn_set_learning_rate(torchdyn_trainer* trainer, double rate) {
  if (trainer) trainer->handle->set_learning_rate(rate);
}

void torchdyn_free_trainer(torchdyn_trainer* trainer) { delete trainer; }

torchdyn_status torchdyn_verify(const char* path, char** error) {
  return guarded(error, [&] { return verify(path); });
}

void torchdyn_free_error(char* error) { std::free(error); }

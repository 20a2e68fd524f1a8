/* Runs a package of one float input and one output: client PACKAGE DIM... <input >output */
#include <dlpack/dlpack.h>
#include <stdio.h>
#include <stdlib.h>

#include "torchdyn/c_api/torchdyn.h"

enum { kMostDimensions = 8 };

static int fail(char* error) {
  fprintf(stderr, "%s\n", error ? error : "no reason");
  torchdyn_free_error(error);
  return 1;
}

static int write_output(const DLTensor* tensor) {
  size_t elements = 1;
  for (int d = 0; d < tensor->ndim; ++d) elements *= (size_t)tensor->shape[d];
  const char* data = (const char*)tensor->data + tensor->byte_offset;
  return fwrite(data, tensor->dtype.bits / 8, elements, stdout) == elements ? 0 : 1;
}

int main(int argc, char** argv) {
  if (argc < 2 || argc - 2 > kMostDimensions || torchdyn_api_version() < TORCHDYN_API_VERSION)
    return 2;
  char* error = NULL;
  torchdyn_package* package = NULL;
  if (torchdyn_load(argv[1], &package, &error) != TORCHDYN_OK) return fail(error);

  int64_t shape[kMostDimensions];
  size_t elements = 1;
  for (int d = 0; d < argc - 2; ++d) elements *= (size_t)(shape[d] = atoll(argv[d + 2]));
  float* data = malloc(elements * sizeof(float) + 1);
  if (!data || fread(data, sizeof(float), elements, stdin) != elements) return 2;

  DLTensor x = {0};
  x.data = data;
  x.device.device_type = kDLCPU;
  x.ndim = argc - 2;
  x.dtype.code = kDLFloat;
  x.dtype.bits = 32;
  x.dtype.lanes = 1;
  x.shape = shape;
  const void* inputs[] = {&x};
  DLManagedTensor* output = NULL;
  size_t count = 0;
  if (torchdyn_call(package, inputs, 1, &output, 1, &count, &error) != TORCHDYN_OK)
    return fail(error);
  torchdyn_free(package); /* the output lives on */
  free(data);
  const int failed = write_output(&output->dl_tensor);
  output->deleter(output);
  return failed;
}

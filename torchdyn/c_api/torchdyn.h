/* Runs packages that torchdyn::save has written: from C, and from any language that calls C.
 *
 *   #include <dlpack/dlpack.h>
 *   #include <torchdyn/c_api/torchdyn.h>
 *   torchdyn_package* package = NULL;
 *   char* error = NULL;
 *   if (torchdyn_load("model.td", &package, &error) != TORCHDYN_OK) { puts(error); ... }
 *   const DLTensor* inputs[] = {&x};
 *   DLManagedTensor* outputs[1];
 *   size_t count = 0;
 *   if (torchdyn_call(package, inputs, 1, outputs, 1, &count, &error) != TORCHDYN_OK) ...
 *   outputs[0]->deleter(outputs[0]);
 *   torchdyn_free(package);
 *
 * Link torchdyn_runtime (no LibTorch, packages without extern calls) or torchdyn (all packages);
 * both have these functions. Every function may be called by any number of threads at a time, the
 * two that free aside. No exception and no abort comes out; where
 * `error` is not null and a function fails, it gets a sentence that torchdyn_free_error takes back.
 * A package holds machine code: load those that you trust. */
#ifndef TORCHDYN_C_API_TORCHDYN_H
#define TORCHDYN_C_API_TORCHDYN_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TORCHDYN_API __attribute__((visibility("default")))

/* Of this header. A function that is added raises it; none is changed or taken away, and a library
 * with a higher one serves programs that were built with this. */
#define TORCHDYN_API_VERSION 2
TORCHDYN_API int torchdyn_api_version(void);

typedef enum torchdyn_status {
  TORCHDYN_OK = 0,
  TORCHDYN_INVALID_ARGUMENT = 1,    /* inputs that do not fit, a file that is no package */
  TORCHDYN_NOT_FOUND = 2,           /* no such file, no such operator in this LibTorch */
  TORCHDYN_DATA_LOSS = 3,           /* a file that is damaged */
  TORCHDYN_FAILED_PRECONDITION = 4, /* for other processors, for other values */
  TORCHDYN_OUT_OF_RANGE = 5,        /* eager raises for these values: an index is out of range */
  TORCHDYN_UNIMPLEMENTED = 6,       /* needs LibTorch, or a GPU */
  TORCHDYN_RESOURCE_EXHAUSTED = 7,  /* no memory */
  TORCHDYN_UNAVAILABLE = 8,         /* the system refused */
  TORCHDYN_INTERNAL = 9,            /* a fault of this library's */
  TORCHDYN_PERMISSION_DENIED = 10   /* since 2: signed by somebody else */
} torchdyn_status;

typedef struct torchdyn_package torchdyn_package;

/* dlpack.h, of any version; its structs of these names have one layout in all. */
struct DLManagedTensor;

/* Maps the file: its weights are shared by all processes that load it. Compares the digests of
 * what is executed. Writes no file. */
TORCHDYN_API torchdyn_status torchdyn_load(const char* path, torchdyn_package** package,
                                           char** error);
/* Since 2. The same of a package that the owner of an Ed25519 key in PEM has signed (`torchdyn
 * sign`); compares all digests, the weights' too. */
TORCHDYN_API torchdyn_status torchdyn_load_signed(const char* path, const char* public_key,
                                                  torchdyn_package** package, char** error);
/* Results live on. Null is let go, too. */
TORCHDYN_API void torchdyn_free(torchdyn_package* package);

/* The manifest as JSON: inputs with their types and names, variants, guards, producer. Lives as
 * long as the package. */
TORCHDYN_API const char* torchdyn_manifest(const torchdyn_package* package);
/* How many tensors a call takes and gives, at most. */
TORCHDYN_API size_t torchdyn_input_count(const torchdyn_package* package);
TORCHDYN_API size_t torchdyn_output_count(const torchdyn_package* package);

/* Inputs are DLTensors on the CPU, borrowed for the call and not written, but where the function
 * itself changes them; strides count elements, and null ones are row-major. Sizes, strides and
 * dtypes are those of the manifest. `capacity` is the length of `outputs`; the first `*count` of
 * them are set, and the caller calls each one's deleter. An output is memory of its own. */
TORCHDYN_API torchdyn_status torchdyn_call(const torchdyn_package* package,
                                           const void* const* inputs, size_t input_count,
                                           struct DLManagedTensor** outputs, size_t capacity,
                                           size_t* count, char** error);

/* Since 2. The same of one of several functions of a package; torchdyn_call is that of "forward". A
 * name lives as long as the package; null where there is none of that index. */
TORCHDYN_API torchdyn_status torchdyn_call_method(const torchdyn_package* package,
                                                  const char* method, const void* const* inputs,
                                                  size_t input_count,
                                                  struct DLManagedTensor** outputs, size_t capacity,
                                                  size_t* count, char** error);
TORCHDYN_API size_t torchdyn_method_count(const torchdyn_package* package);
TORCHDYN_API const char* torchdyn_method_name(const torchdyn_package* package, size_t index);

/* Writes the package with its weights, and what its optimizer keeps, as they are now: changed by
 * calls, or trained. */
TORCHDYN_API torchdyn_status torchdyn_save(const torchdyn_package* package, const char* path,
                                           char** error);

/* Training (torchdyn alone): forward, backward and the optimizer's step as one call, on a package
 * whose first output is the loss and that has its backward. `optimizer` is "sgd lr=0.1
 * momentum=0.9" or "adamw lr=0.001 weight_decay=0.1"; torchdyn/package.h lists the settings. Null:
 * the optimizer that the package brings, which goes on from where it was saved (since 2). The
 * package lives on when it is freed, and sees each step. */
typedef struct torchdyn_trainer torchdyn_trainer;
TORCHDYN_API torchdyn_status torchdyn_train(const torchdyn_package* package, const char* optimizer,
                                            torchdyn_trainer** trainer, char** error);
TORCHDYN_API torchdyn_status torchdyn_train_step(torchdyn_trainer* trainer,
                                                 const void* const* inputs, size_t input_count,
                                                 double* loss, char** error);
TORCHDYN_API void torchdyn_set_learning_rate(torchdyn_trainer* trainer, double rate);
TORCHDYN_API void torchdyn_free_trainer(torchdyn_trainer* trainer);

/* Compares every digest of a file, the weights' too. */
TORCHDYN_API torchdyn_status torchdyn_verify(const char* path, char** error);

TORCHDYN_API void torchdyn_free_error(char* error);

#ifdef __cplusplus
}
#endif

#endif

/* Trains a package of one float matrix:
 * training PACKAGE ROWS COLUMNS TRAINED OPTIMIZER STEPS <input >losses
 * OPTIMIZER may be "own": the package's. */
#include <dlpack/dlpack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "torchdyn/c_api/torchdyn.h"

static int fail(char* error) {
  fprintf(stderr, "%s\n", error ? error : "no reason");
  torchdyn_free_error(error);
  return 1;
}

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  int64_t shape[2] = {atoll(argv[2]), atoll(argv[3])};
  const size_t elements = (size_t)(shape[0] * shape[1]);
  float* data = malloc(elements * sizeof(float));
  if (!data || fread(data, sizeof(float), elements, stdin) != elements) return 2;
  DLTensor x = {0};
  x.data = data;
  x.device.device_type = kDLCPU;
  x.ndim = 2;
  x.dtype.code = kDLFloat;
  x.dtype.bits = 32;
  x.dtype.lanes = 1;
  x.shape = shape;
  const void* inputs[] = {&x};

  char* error = NULL;
  torchdyn_package* package = NULL;
  torchdyn_trainer* trainer = NULL;
  if (torchdyn_load(argv[1], &package, &error) != TORCHDYN_OK) return fail(error);
  if (torchdyn_train(package, "unknown", &trainer, &error) != TORCHDYN_INVALID_ARGUMENT) return 3;
  torchdyn_free_error(error);
  const char* optimizer = strcmp(argv[5], "own") == 0 ? NULL : argv[5];
  if (torchdyn_train(package, optimizer, &trainer, &error) != TORCHDYN_OK) return fail(error);
  for (int step = 0; step < atoi(argv[6]); ++step) {
    double loss = 0;
    if (torchdyn_train_step(trainer, inputs, 1, &loss, &error) != TORCHDYN_OK) return fail(error);
    printf("%a\n", loss);
  }
  torchdyn_free_trainer(trainer);
  if (torchdyn_save(package, argv[4], &error) != TORCHDYN_OK) return fail(error);
  torchdyn_free(package);
  free(data);
  return 0;
}

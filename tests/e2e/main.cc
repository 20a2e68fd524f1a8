// Opens the tests' device before anything asks LibTorch for it: a program without the one that it
// is asked to test fails at once.
#include <iostream>

#include <gmock/gmock.h>

#include "tests/e2e/test_device.h"

int main(int argc, char** argv) {
  ::testing::InitGoogleMock(&argc, argv);
  try {
    test_device();
  } catch (const gpt::DeviceError& error) {
    std::cerr << argv[0] << ": " << error.what() << "\n";
    return 1;
  }
  return RUN_ALL_TESTS();
}

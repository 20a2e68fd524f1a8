// What a sanitized program (TORCHDYN_SANITIZE) asks of its runtime; ASAN_OPTIONS and its kin add to
// it.
#ifdef __SANITIZE_ADDRESS__

extern "C" const char* __asan_default_options() {
  return "allocator_may_return_null=1";  // tests ask for more memory than there is
}
extern "C" const char* __ubsan_default_options() { return "print_stacktrace=1"; }

#endif
#ifdef __SANITIZE_THREAD__

extern "C" const char* __tsan_default_options() {
  return "die_after_fork=0";  // tests fork while there are threads
}

#endif

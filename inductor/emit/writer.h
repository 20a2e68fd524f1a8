// Text whose scopes close themselves.
//   Writer w;
//   {
//     auto loop = w.open("for (int64_t i0 = 0; i0 < n; ++i0)");
//     w.line("out0[i0] = td_exp(in0[i0]);");
//   }                                          // writes "}" at the loop's indentation
//   w.text();
#pragma once

#include <string>
#include <string_view>

namespace inductor {

class Writer {
 public:
  class [[nodiscard]] Scope {  // closes when it goes out of scope
   public:
    Scope(Scope&& other) noexcept : writer_(other.writer_) { other.writer_ = nullptr; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    Scope& operator=(Scope&&) = delete;
    ~Scope();

   private:
    explicit Scope(Writer* writer) : writer_(writer) {}
    Writer* writer_;
    friend class Writer;
  };

  Writer() = default;
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // Writes `head` and " {", or "{" alone, and indents what follows.
  Scope open(std::string_view head);
  void line(std::string_view text);
  const std::string& text() const { return text_; }

 private:
  // A scope that closes has room for its line: it must not fail while an exception passes.
  void make_room(size_t bytes) { text_.reserve(text_.size() + bytes + closing_); }
  size_t closing_line() const { return 2 * depth_ + 2; }

  std::string text_;
  size_t depth_ = 0;
  size_t closing_ = 0;  // bytes of the lines that close what is open
};

}  // namespace inductor

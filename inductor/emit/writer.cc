#include "inductor/emit/writer.h"

namespace inductor {

Writer::Scope::~Scope() {
  if (!writer_) return;
  --writer_->depth_;
  writer_->closing_ -= writer_->closing_line();
  writer_->line("}");
}

Writer::Scope Writer::open(std::string_view head) {
  line(head.empty() ? "{" : std::string(head) + " {");
  make_room(closing_line());
  closing_ += closing_line();
  ++depth_;
  return Scope(this);
}

void Writer::line(std::string_view text) {
  make_room(2 * depth_ + text.size() + 1);
  if (!text.empty()) text_.append(2 * depth_, ' ').append(text);
  text_ += '\n';
}

}  // namespace inductor

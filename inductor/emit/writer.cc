#include "inductor/emit/writer.h"

namespace inductor {

Writer::Scope::~Scope() {
  if (!writer_) return;
  --writer_->depth_;
  writer_->line("}");
}

Writer::Scope Writer::open(std::string_view head) {
  line(head.empty() ? "{" : std::string(head) + " {");
  ++depth_;
  return Scope(this);
}

void Writer::line(std::string_view text) {
  if (!text.empty()) text_.append(2 * depth_, ' ').append(text);
  text_ += '\n';
}

}  // namespace inductor

//! Answers shown: terminal and JSON

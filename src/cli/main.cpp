// Parses the command line, runs one command and turns what it throws into one line and an exit code.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <new>
#include <string_view>
#include <unistd.h>

#include "base/error.hpp"
#include "base/io/byte_source.hpp"
#include "base/io/input_files.hpp"
#include "base/io/output_file.hpp"
#include "base/memory.hpp"
#include "base/text/nearest.hpp"
#include "base/version.hpp"
#include "cli/commands.hpp"
#include "cli/manual/help_formatter.hpp"
#include "cli/repeat_options.hpp"
#include "cli/terminal/output.hpp"
#include "cli/terminal/stop_signal.hpp"
#include "cli/terminal/terminal.hpp"
#include "cli/terminal/thread_waiting.hpp"

namespace lacuna::cli {
namespace {

constexpr int kExitInput = 2;             // a user error
constexpr int kExitInternal = 3;          // a defect of the program
constexpr int kExitPipe = 128 + SIGPIPE;  // what a shell shows for a program ended by a closed pipe

// The command that was being parsed: the deepest one named so far.
const CLI::App& current_command(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : current_command(*chosen.back());
}

std::string full_name(const CLI::App& command) {
  return command.get_parent() == nullptr ? command.get_name()
                                         : full_name(*command.get_parent()) + " " + command.get_name();
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    const bool hidden = option->get_group().empty();
    if (!hidden && !option->get_lnames().empty()) names.push_back("--" + option->get_lnames().front());
  }
  return names;
}

// One line for a command line that could not be parsed, with the nearest command or option.
std::string explain(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& command = current_command(app);
  const std::string help = fmt::format("see '{} --help'", full_name(command));
  const std::vector<std::string> unexpected = app.remaining(true);
  if (!unexpected.empty()) {
    const std::string word = unexpected.front().substr(0, unexpected.front().find('='));
    if (word.starts_with('-')) {
      return fmt::format("unknown option '{}' of '{}'; {}", word, full_name(command),
                         suggest(word, option_names(command)));
    }
    if (const auto names = command_names(command); !names.empty()) {
      return fmt::format("unknown command '{}'; {}", word, suggest(word, names));
    }
    return fmt::format("unexpected argument '{}'; {}", word, help);
  }
  if (const auto names = command_names(command); !names.empty() && command.get_subcommands().empty()) {
    return fmt::format("'{}' needs a command; known: {}; {}", full_name(command), fmt::join(names, ", "),
                       help);
  }
  return fmt::format("{}; {}", error.what(), help);
}

// Adds the command that is named first. All of them, whose hundreds of options take longer than a small
// simulation, if none is, or for those that show others.
void add_commands(CLI::App& app, std::string_view first) {
  const auto* named = std::ranges::find(kCommands, first, &NamedCommand::name);
  if (named != std::end(kCommands) && first != "help") return named->add(app);
  for (const NamedCommand& command : kCommands) command.add(app);
}

int run(int argc, char** argv) {
  set_command_line(argc, argv);
  CLI::App app(
      "What skipping zeros gives in the training of neural networks: accelerators and CPU kernels, side by "
      "side.",
      "lacuna");
  app.set_version_flag("-V,--version", version_text,
                       "Print the version, commit, compiler, instruction set and oneDNN");
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.require_subcommand(1);
  app.formatter(std::make_shared<HelpFormatter>());  // the commands take it over
  app.get_formatter()->label("SUBCOMMAND", "COMMAND");
  app.get_formatter()->column_width(26);
  app.failure_message([](const CLI::App*, const CLI::Error&) { return std::string(); });
  add_commands(app, argc > 1 ? argv[1] : "");
  for (CLI::App* command : app.get_subcommands({})) command->group("Commands");
  add_examples(app, {{"lacuna COMMAND --help", "what a command does, its options and examples"}});
  try {
    std::vector<std::string> words = repeat_options({argv + 1, argv + argc});
    std::ranges::reverse(words);  // as CLI11 takes them
    app.parse(std::move(words));
  } catch (const CLI::CallForHelp&) {
    print_text(app.help());
  } catch (const CLI::CallForVersion& request) {
    print("{}\n", request.what());
  } catch (const CLI::RuntimeError& request) {
    flush_output();
    return request.get_exit_code();
  } catch (const CLI::ParseError& error) {
    print_error(fmt::format("error: {}", explain(app, error)));
    return kExitInput;
  }
  flush_output();
  return 0;
}

}  // namespace
}  // namespace lacuna::cli

namespace {

// A mapped file that another program cuts short while it is read ends in this signal. Nothing can be unwound
// from here; results are not yet being written while traces are read.
extern "C" void file_shrank(int /*signal*/) {
  constexpr std::string_view kMessage =
      "lacuna: error: a file became shorter while it was read, or its disk failed; run again when it is "
      "complete\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kMessage.data(), kMessage.size());
  lacuna::remove_partial_files();
  ::_exit(lacuna::cli::kExitInput);
}

void print_out_of_memory() noexcept {
  try {
    lacuna::cli::print_error(fmt::format(
        "error: out of memory: this program may use {:.2g} GB here; use a smaller trace or fewer threads, or "
        "set LACUNA_MEMORY to another size",
        static_cast<double>(lacuna::memory_budget()) / 1e9));
  } catch (const std::exception&) {  // there is none for the message either
    lacuna::cli::print_error("error: out of memory");
  }
}

// Memory may also run out where no exception can pass: the destructor of nlohmann's JSON allocates.
[[noreturn]] void end_without_unwinding() {
  try {
    if (const std::exception_ptr error = std::current_exception()) std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    print_out_of_memory();
    lacuna::remove_partial_files();
    ::_exit(lacuna::cli::kExitInput);
  } catch (...) {
  }
  std::abort();
}

}  // namespace

int main(int argc, char** argv) {
  using namespace lacuna;
  cli::wait_briefly(argc, argv);
  cli::open_standard_streams();
  // A closed pipe and a file beyond `ulimit -f` are errors of write(), not signals: what was being written is
  // then cleaned up.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  std::signal(SIGBUS, file_shrank);
  std::set_terminate(end_without_unwinding);
  cli::leave_nothing_behind_on_signals();
  ByteSource::map_files();
  protect_input_files();
  try {
    enforce_memory_budget();
    const int code = cli::run(argc, argv);
    check_watched_files();
    return code;
  } catch (const InputError& error) {
    cli::print_error(fmt::format("error: {}", error.what()));
    return cli::kExitInput;
  } catch (const cli::BrokenPipe&) {
    return cli::kExitPipe;
  } catch (const std::filesystem::filesystem_error& error) {
    cli::print_error(fmt::format("error: {}", error.what()));
    return cli::kExitInput;
  } catch (const std::bad_alloc&) {
    print_out_of_memory();
    return cli::kExitInput;
  } catch (const std::exception& error) {
    cli::print_error(fmt::format(
        "internal error: {}; this is a defect of lacuna {}: please report it with the command line",
        error.what(), version()));
    return cli::kExitInternal;
  }
}

#include "cli/commands/train_options.hpp"

#include <limits>

#include "cli/commands.hpp"
#include "cli/terminal/html_output.hpp"
#include "train/sparsity/quantize.hpp"

namespace lacuna::cli {
namespace {

// CLI11's ranges let "nan" pass, and name their ends with all their digits.
CLI::Validator number(double low, double high, const std::string& wanted) {
  return {[=](const std::string& text) {
            double value = 0;
            const bool read = CLI::detail::lexical_cast(text, value);
            return read && value >= low && value <= high ? std::string() : "give " + wanted;
          },
          ""};
}
CLI::Validator positive_number() {
  return number(std::numeric_limits<double>::min(), std::numeric_limits<double>::max(), "a positive number");
}

void add_model_options(CLI::App& command, TrainCommand& c) {
  command.add_option("--model", c.setup.model, "A built-in model (--list) or a .yaml file")
      ->type_name("NAME|FILE")
      ->capture_default_str();
  command
      .add_option("--set", c.setup.model_settings,
                  "Change a parameter of the model; size, channels and classes follow the data")
      ->allow_extra_args(false)
      ->type_name("key=value");
  command.add_flag("--list", c.list, "Name the built-in models and exit");
  command
      .add_option("--init", c.initial,
                  "Start from the parameters in this file (a checkpoint, or any safetensors file with the "
                  "same names and shapes)")
      ->type_name("FILE");
  command
      .add_option(
          "--kernels", c.setup.kernels,
          "dense: oneDNN; sparse: skip zeros; auto: whichever is expected to be faster, chosen for each call")
      ->type_name("dense|sparse|auto")
      ->capture_default_str();
  command
      .add_option("--precision", c.setup.precision,
                  "bfloat16: round the operands of products, where the CPU has AMX or AVX512-BF16; sums, "
                  "weights and all else stay single precision. With --kernels auto where it is expected to "
                  "be faster")
      ->type_name("float32|bfloat16")
      ->capture_default_str();
  command.add_flag_function(
      "--exact", [&c](std::int64_t count) { c.setup.exact = count > 0; },
      "--kernels auto leaves out Winograd, which rounds more coarsely; the default with --record");
  command.add_option("--threads", c.setup.threads, "Threads (default: all cores)")
      ->check(whole_number(0, 1024))
      ->type_name("N");
}

void add_data_options(CLI::App& command, TrainCommand& c) {
  command
      .add_option("--data", c.setup.data,
                  "shapes (built in), cifar10:DIR, cifar100:DIR, mnist:DIR, folder:DIR, or a DIR whose kind "
                  "is recognised")
      ->type_name("SET")
      ->capture_default_str();
  command
      .add_option("--size", c.setup.data_options.image_size,
                  "Height and width of the images in pixels (default: those of the data set)")
      ->check(whole_number(8, 4096))
      ->type_name("N");
  command
      .add_option("--train-size", c.setup.data_options.train_size, "Training images to use (default: all)")
      ->check(whole_number(1))
      ->type_name("N");
  command.add_option("--test-size", c.setup.data_options.test_size, "Test images to use (default: all)")
      ->check(whole_number(1))
      ->type_name("N");
  command.add_flag("--flip", c.options.flip, "Mirror each image left to right with probability 1/2");
  command
      .add_option("--crop", c.options.crop_padding, "Shift each image at random by up to N pixels each way")
      ->check(whole_number(0, 512))
      ->type_name("N");
}

void add_optimizer_options(CLI::App& command, TrainCommand& c) {
  command.add_option("--batch", c.setup.batch, "Images per step")
      ->check(whole_number(1, 65536))
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--epochs", c.epochs, "Passes over the training set")
      ->check(number(1e-9, 1e6, "a number above 0 and up to 1000000"))
      ->type_name("N")
      ->capture_default_str();
  command.add_option("--steps", c.steps, "Training steps; replaces --epochs")
      ->check(whole_number(1))
      ->type_name("N");
  command.add_option("--lr", c.options.schedule.rate, "Learning rate")
      ->check(positive_number())
      ->type_name("X")
      ->capture_default_str();
  command.add_option("--schedule", c.schedule, "How the learning rate changes")
      ->type_name("cosine|step|constant")
      ->capture_default_str();
  command
      .add_option("--warmup", c.options.schedule.warmup,
                  "Steps of linear growth of the learning rate from zero (default: a twentieth of all steps)")
      ->check(whole_number(0))
      ->type_name("N");
  command.add_option("--momentum", c.options.sgd.momentum, "Momentum")
      ->check(number(0, 0.9999, "a number from 0 to 0.9999"))
      ->type_name("X")
      ->capture_default_str();
  command.add_option("--weight-decay", c.options.sgd.weight_decay, "Weight decay")
      ->check(number(0, 1, "a number from 0 to 1"))
      ->type_name("X")
      ->capture_default_str();
  command
      .add_option("--seed", c.options.seed,
                  "Seed of everything random: weights, order of images, flips, crops, dropout")
      ->check(whole_number(0, std::numeric_limits<std::uint64_t>::max()))
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option("--prune", c.prune,
                  "Keep most weights at zero while training: sm (sparse momentum) or ds (dynamic sparse "
                  "reparameterisation)")
      ->type_name("none|sm|ds")
      ->capture_default_str();
  command.add_option("--prune-zeros", c.options.pruning.zeros, "Share of zero weights in the pruned layers")
      ->check(number(0, 0.999, "a number from 0 to 0.999"))
      ->type_name("X")
      ->capture_default_str();
  command
      .add_option("--prune-every", c.options.pruning.every,
                  "Steps between changes of the set of zero weights")
      ->check(whole_number(1))
      ->type_name("N")
      ->capture_default_str();
  command
      .add_option(
          "--prune-growth-steps", c.options.pruning.growth_steps,
          "sm: steps before each change in which gradients of zero weights are computed; in the others "
          "kernels compute those of the non-zero weights alone (default: as many as the momentum "
          "remembers to one percent, 44 for 0.9)")
      ->check(whole_number(1))
      ->type_name("N");
  command.add_flag("--prune-as-drawn", c.options.pruning.as_drawn,
                   "Do not enlarge the initial weights to make up for the pruned ones (assumption T4)");
}

void add_sparsity_options(CLI::App& command, TrainCommand& c) {
  command
      .add_option(
          "--sparsify", c.sparsify,
          "Multiply only the largest values. swat: of weights in forward and input_grad, of activations "
          "in weight_grad; topk: of every operand of every product; meprop: of gradients; resprop: of their "
          "differences to the step before; swat+resprop: both")
      ->type_name("none|swat|topk|meprop|resprop|swat+resprop")
      ->capture_default_str();
  command.add_option("--density", c.density, "Share of values that --sparsify keeps (default: 0.1)")
      ->check(number(std::numeric_limits<double>::min(), 1, "a number above 0 and up to 1"))
      ->type_name("X");
  command
      .add_option(
          "--sparsify-warmup", c.sparsify_warmup,
          "Steps in which resprop comes down to --density: gradients as they are for two ninths, then "
          "fewer and fewer differences (default: a tenth of all steps)")
      ->check(whole_number(0))
      ->type_name("N");
}

void add_selection_options(CLI::App& command, TrainCommand& c) {
  command
      .add_option("--selective-backprop", c.setup.learnt_samples,
                  "Share of the images that is learnt from: those with large losses more often; the "
                  "gradients of the others are zero")
      ->check(number(std::numeric_limits<double>::min(), 1, "a number above 0 and up to 1"))
      ->type_name("X");
}

void add_quantize_option(CLI::App& command, TrainCommand& c) {
  command
      .add_option(
          "--quantize", c.setup.quantize_bits,
          "Round weights and activations to BITS bits before they are multiplied, except in the first "
          "and the last layer; small values become zero")
      ->check(whole_number(train::kFewestBits, train::kMostBits))
      ->type_name("BITS");
}

void add_output_options(CLI::App& command, TrainCommand& c) {
  command.add_option("--out", c.out, "Folder for checkpoint.safetensors, log.csv, config.json and traces")
      ->type_name("DIR")
      ->capture_default_str();
  command
      .add_option("--compare", c.compare,
                  "At the end, time STEPS more batches with dense kernels and with those of this run")
      ->check(whole_number(1, 100'000))
      ->type_name("STEPS");
  command.add_flag("--beside-dense", c.beside_dense,
                   "At the end, train once more with all weights, values and images (without --sparsify, "
                   "--selective-backprop, --quantize and --prune) and print both accuracies");
  command
      .add_option("--resume", c.resumed,
                  "Continue the run in DIR (default: that of --out) as if it had never stopped. Its options "
                  "need not be given again; --steps, --epochs, --threads, --kernels, --precision, --exact "
                  "and what it writes may change")
      ->expected(0, 1)
      ->type_name("[DIR]");
  command.add_option("--record", c.record_every, "Write a trace of steps 0, EVERY, 2*EVERY, ...")
      ->check(whole_number(1))
      ->type_name("EVERY");
  command
      .add_option("--samples", c.record.samples,
                  "Images of each batch to keep in a trace; linear layers keep all")
      ->check(whole_number(1))
      ->type_name("N")
      ->capture_default_str();
  command.add_flag("--values", c.record.values, "Store values in traces, not only masks of non-zeros");
  command
      .add_option("--checkpoint-every", c.checkpoint_every, "Steps between checkpoints (default: one epoch)")
      ->check(whole_number(1))
      ->type_name("N");
  command.add_option("--test-every", c.test_every, "Steps between tests (default: one epoch)")
      ->check(whole_number(1))
      ->type_name("N");
  add_html_option(command, c.html);
  command
      .add_option("--report-every", c.report_every,
                  "Steps between lines of the table and log (default: one epoch or a tenth of the run)")
      ->check(whole_number(1))
      ->type_name("N");
}

}  // namespace

void add_train_options(CLI::App& command, TrainCommand& options) {
  add_model_options(command, options);
  add_data_options(command, options);
  add_optimizer_options(command, options);
  add_sparsity_options(command, options);
  add_selection_options(command, options);
  add_quantize_option(command, options);
  add_output_options(command, options);
}

}  // namespace lacuna::cli

#include "bench/inputs/zero_table.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "bench/inputs/layer_list.hpp"

namespace lacuna::bench {
namespace {

std::string refused(const std::string& text) {
  try {
    parse_zero_table(text, "f");
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(ZeroTable, ReadsATable) {
  const ZeroTable table = parse_zero_table("# source\r\n\nlayer,1,2\r\na,0.5,1\nb,0,0.25", "f");
  EXPECT_EQ(table.epochs, (std::vector<std::string>{"1", "2"}));
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.row("b", "").shares, (std::vector<double>{0, 0.25}));
}

TEST(ZeroTable, HostileTablesAreRefusedWithTheirLine) {
  const std::string head = "layer,1,2,3\n";
  EXPECT_EQ(refused("# c\n" + head + "a,0.5,1.5,0\n"),
            "f:3: column 3: '1.5' is not a share of zeros; give a number from 0 to 1");
  for (const char* bad : {"", "-0.1", "nan", "inf", "1e9", "1.0000001", "x1", "0.5;", "0x1", "+0.5"})
    EXPECT_TRUE(refused(head + "a," + bad + ",0,0\n").starts_with("f:2: column 2: ")) << bad;
  EXPECT_TRUE(refused(head + "a,0.5,0.5\n").starts_with("f: line 2: 3 cells, but the first line names 4"));
  EXPECT_TRUE(refused(head + "a,0,0,0,0\n").starts_with("f: line 2: 5 cells"));
  EXPECT_TRUE(refused(head + "a,0,0,0\na,0,0,0\n").starts_with("f:3: there is a second row 'a'"));
  for (const char* bad : {"name,1\na,0\n", "layer\na\n", ""})
    EXPECT_TRUE(refused(bad).starts_with("f: its first line is not 'layer,1,2,...'")) << bad;
  EXPECT_TRUE(refused(head).starts_with("f: the table is empty"));
  EXPECT_EQ(refused(std::string("layer,1\n\0a,0\n", 13)).find('\n'), std::string::npos);
  EXPECT_THROW(read_zero_table("vgg61"), InputError);
}

// Each network of the paper finds the rows that its layers name.
TEST(ZeroTable, TablesArePartOfTheProgram) {
  EXPECT_EQ(zero_table_names(), (std::vector<std::string>{"resnet34", "resnet50", "vgg16"}));
  for (const std::string& name : zero_table_names()) {
    const ZeroTable table = read_zero_table(name);
    const Network network = read_shapes(name, 1);
    EXPECT_GT(network.paper_inference, 1);
    for (const NetworkLayer& layer : network.layers) {
      if (layer.initial) continue;
      EXPECT_EQ(layer.zeros_a.size(), static_cast<std::size_t>(layer.count)) << layer.name;
      for (const std::string& row : layer.zeros_a) EXPECT_EQ(table.row(row, "").name, row);
      for (const std::string& row : layer.zeros_g) EXPECT_EQ(table.row(row, "").name, row);
    }
  }
  EXPECT_EQ(read_zero_table("vgg16").epochs.size(), 72u);
  EXPECT_EQ(read_zero_table("resnet50").row("49", "").shares.size(), 90u);
  try {
    read_zero_table("vgg16").row("conv13", "the input of x");
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_TRUE(std::string(error.what())
                    .starts_with("vgg16.csv: there is no row 'conv13', the zeros of the input of x"))
        << error.what();
  }
}

TEST(ZeroTable, RowsHaveNames) {
  try {
    (void)parse_zero_table("layer,1\n,1\n", "t.csv");
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(), "t.csv:2: the row has no name; name its layer");
  }
}

}  // namespace
}  // namespace lacuna::bench

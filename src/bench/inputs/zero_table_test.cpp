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

TEST(ZeroTable, HostileTablesAreRefusedWithLineAndColumn) {
  const std::string head = "layer,1,2,3\n";
  EXPECT_EQ(refused(head + "a,0.5,0.5,x1\n"), "f:2: column 4: 'x1' is not a number; give a share, 0 to 1");
  EXPECT_EQ(refused("# c\n" + head + "a,0.5,1.5,0\n"),
            "f:3: column 3: '1.5' is not a share of zeros; give 0 to 1");
  for (const char* bad : {"-0.1", "nan", "inf", "1e9", "1.0000001"})
    EXPECT_NE(refused(head + "a," + bad + ",0,0\n").find("is not a share of zeros"), std::string::npos)
        << bad;
  for (const char* bad : {"", " 0.5", "0,5", "0.5;", "\"0.5\"", "0x1", "+0.5"})
    EXPECT_TRUE(refused(head + "a," + bad + ",0,0\n").starts_with("f:2: column ")) << bad;
  EXPECT_EQ(refused(head + "a,0.5,0.5\n"),
            "f:2: column 4: 2 shares in the row 'a', where the first line names 3 points in time; give one "
            "for each");
  EXPECT_TRUE(refused(head + "a,0,0,0,0\n").starts_with("f:2: column 5: 4 shares in the row 'a'"));
  EXPECT_TRUE(refused(head + "a,0,0,0\na,0,0,0\n").starts_with("f:3: column 1: there is a second row 'a'"));
  EXPECT_TRUE(refused(head + ",0,0,0\n").starts_with("f:2: column 1: '' is not a name"));
  EXPECT_TRUE(refused("name,1\na,0\n").starts_with("f:1: column 1: 'name' where the word 'layer' belongs"));
  EXPECT_TRUE(refused("layer\na,0\n").starts_with("f:1: column 2: there are no points in time"));
  EXPECT_TRUE(refused("layer,1,\n").starts_with("f:1: column 3: '' is not a name of a point in time"));
  EXPECT_TRUE(refused(head).starts_with("f: there are no shares of zeros"));
  EXPECT_TRUE(refused("").starts_with("f: there is no line 'layer,1,2,...'"));
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

}  // namespace
}  // namespace lacuna::bench

#include "sweep/store/database.hpp"

#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

#include "base/testing.hpp"
#include "sweep/store/checksums.hpp"
#include "sweep/store/schema.hpp"
#include "sweep/testing/records.hpp"

namespace lacuna::sweep {
namespace {

std::int64_t count(const std::filesystem::path& file, const std::string& from) {
  return Reader(file).connection().integer("SELECT count(*) FROM " + from);
}

TEST(SweepDatabase, GivesBackWhatWasStored) {
  const TemporaryFolder folder;
  const auto file = folder / "r.sqlite";
  {
    Database database(file, test_program());
    fill_with_points(database, 3, 2);
    EXPECT_EQ(database.stored().size(), 6);
  }
  const Reader reader(file);
  Statement row = reader.prepare(
      "SELECT network, rows, cycles, speedup, speedup_from_zeros, energy_delay, area_mm2, program FROM "
      "points "
      "WHERE design = 2 AND network = 'net1'");
  ASSERT_TRUE(row.step());
  const PointRecord point = test_point(1, 1);
  EXPECT_EQ(row.text(0), "net1");
  EXPECT_EQ(row.integer(1), 2);
  EXPECT_EQ(row.number(2), number_of(point, "cycles"));
  EXPECT_EQ(row.number(3), number_of(point, "baseline_cycles") / number_of(point, "cycles"));
  EXPECT_EQ(row.number(4), number_of(point, "cycles_without_zeros") / number_of(point, "cycles"));
  EXPECT_EQ(row.number(5), number_of(point, "energy_joules") * number_of(point, "seconds"));
  EXPECT_EQ(row.number(6), *test_design(1).area_mm2);
  EXPECT_EQ(row.text(7), "0.1.0/1");
  EXPECT_FALSE(row.step());
  EXPECT_EQ(count(file, "operations"), 6);
  EXPECT_EQ(count(file, "by_network"), 6);
  EXPECT_EQ(reader.connection().text("PRAGMA integrity_check"), "ok");
  EXPECT_EQ(reader.swept_parameters(), (std::vector<std::string>{"rows"}));
}

TEST(SweepDatabase, ParetoHoldsWhatNoSmallerDesignBeats) {
  const TemporaryFolder folder;
  const auto file = folder / "r.sqlite";
  {
    Database database(file, test_program());
    fill_with_points(database, 4, 1);  // larger and faster, one after the other
    DesignRecord poor = test_design(4);
    PointRecord slow = test_point(4, 0);
    set_cycles(slow, 32 * 840, 32 * 840);  // the largest of all, and no faster
    database.add_designs(std::array{poor});
    database.add(std::array{slow});
  }
  EXPECT_EQ(count(file, "points"), 5);
  EXPECT_EQ(count(file, "pareto"), 4);
  EXPECT_EQ(count(file, "pareto WHERE design = 5"), 0);
}

TEST(SweepDatabase, KeepsAPointOnceAndOtherVersionsApart) {
  const TemporaryFolder folder;
  const auto file = folder / "r.sqlite";
  {
    Database database(file, test_program());
    fill_with_points(database, 2, 1);
    fill_with_points(database, 2, 1);
    EXPECT_EQ(database.stored().size(), 2);
    EXPECT_TRUE(database.other_programs().empty());
  }
  EXPECT_EQ(count(file, "operation_results"), 2);
  ProgramRecord later = test_program();
  later.results_version = 2;
  const Database database(file, later);
  EXPECT_TRUE(database.stored().empty());
  ASSERT_EQ(database.other_programs().size(), 1);
  EXPECT_EQ(database.other_programs()[0], std::pair(std::string("0.1.0/1"), std::int64_t{2}));
}

TEST(SweepDatabase, RemembersFailuresUntilThePointComes) {
  const TemporaryFolder folder;
  const auto file = folder / "r.sqlite";
  Database database(file, test_program());
  fill_with_points(database, 1, 1);
  PointRecord point = test_point(0, 0);
  point.key = "later";
  database.add({}, std::array{FailureRecord{"later", "m", "rows=1", "t", "it broke"}});
  EXPECT_EQ(count(file, "failures WHERE error = 'it broke'"), 1);
  database.add(std::array{point});
  EXPECT_EQ(count(file, "failures"), 0);
}

// A new field of an operation needs no edit here: its count is stored, summed up and shown.
TEST(SweepDatabase, HasAColumnForEachCountOfAnOperation) {
  const TemporaryFolder folder;
  const auto file = folder / "r.sqlite";
  { const Database database(file, test_program()); }
  const Reader reader(file);
  for (const OpField& field : kOpFields) {
    if (field.kind != FieldKind::kCount) continue;
    for (const char* from : {"operations", "points", "by_network"}) {
      if (field.name == "macs" && std::string_view(from) != "operations") continue;
      const bool is_sum_only = field.name == "baseline_cycles" && std::string_view(from) == "by_network";
      if (is_sum_only) continue;  // part of its speedup
      EXPECT_EQ(error_of([&] { reader.prepare(fmt::format("SELECT {} FROM {}", field.name, from)); }),
                "no error");
    }
  }
}

// As the table of fields grows, files of older programs get the new columns, empty for what they have.
TEST(SweepDatabase, AddsColumnsThatAnOlderProgramDidNotKnow) {
  const TemporaryFolder folder;
  const auto file = folder / "r.sqlite";
  {
    Database database(file, test_program());
    fill_with_points(database, 1, 1);
  }
  Sqlite(file, Sqlite::Access::kCreate)
      .execute(
          "DROP VIEW operations; DROP VIEW pareto; DROP VIEW by_network; DROP VIEW points; "
          "ALTER TABLE results DROP COLUMN effectual_macs; "
          "ALTER TABLE operation_results DROP COLUMN effectual_macs");
  {
    Database database(file, test_program());
    EXPECT_EQ(database.stored().size(), 1);
    PointRecord point = test_point(0, 0);
    point.key = "new";
    set_results(point.results, point_columns(), {{"effectual_macs", 7.0}});
    database.add(std::array{point});
  }
  EXPECT_EQ(count(file, "points WHERE effectual_macs IS NULL"), 1);
  EXPECT_EQ(count(file, "points WHERE effectual_macs = 7"), 1);
  EXPECT_EQ(count(file, "by_network WHERE effectual_macs = 7"), 1);
  EXPECT_EQ(count(file, "operations WHERE effectual_macs = 250 * 32"), 1);
}

TEST(SweepDatabase, HostileNamesAreOnlyText) {
  const TemporaryFolder folder;
  const auto file = folder / "r.sqlite";
  const std::string hostile = "x'); DROP TABLE results; --\"";
  Database database(file, test_program());
  fill_with_points(database, 1, 1);
  TraceRecord trace = test_trace(7);
  trace.name = trace.network = trace.origin = trace.layers[0].name = hostile;
  database.add_traces(std::array{trace});
  database.add_parameters({hostile});  // no column of that name
  database.add({}, std::array{FailureRecord{"k", hostile, hostile, hostile, hostile}});
  EXPECT_EQ(count(file, "points"), 1);
  EXPECT_EQ(count(file, "failures"), 1);
  EXPECT_EQ(Reader(file).swept_parameters(), (std::vector<std::string>{"rows"}));
}

std::string everything_in(const std::filesystem::path& file) {
  std::string text;
  for (const char* view : {"points", "by_network", "operations", "pareto"})
    text += exported(export_json, file, view);
  return text;
}

// A database of a few points, without a log, as bytes.
std::string bytes_of_a_database(const TemporaryFolder& folder) {
  {
    Database database(folder / "good", test_program());
    fill_with_points(database, 2, 2);
    database.connection().text("PRAGMA journal_mode = DELETE");
  }
  std::ifstream stream(folder / "good", std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

TEST(SweepDatabase, NoFlippedBitIsAnotherNumber) {
  const TemporaryFolder folder;
  std::string bytes = bytes_of_a_database(folder);
  const std::string expected = everything_in(folder / "good");
  const auto file = folder / "flipped";
  int refused = 0;
  constexpr std::size_t kStep = 1553;  // bits, about 700 of them
  for (std::size_t bit = 0; bit < 8 * bytes.size(); bit += kStep) {
    char& byte = bytes[bit / 8];
    byte = static_cast<char>(byte ^ (1 << bit % 8));
    std::ofstream(file, std::ios::binary) << bytes;
    byte = static_cast<char>(byte ^ (1 << bit % 8));
    std::string text;
    const std::string error = error_of([&] { text = everything_in(file); });
    if (error != "no error") {
      ++refused;
    } else {
      EXPECT_EQ(text, expected) << "bit " << bit;
    }
    for (const char* companion : {"-journal", "-wal", "-shm"})
      std::filesystem::remove(file.string() + companion);
  }
  EXPECT_GT(refused, 20);
}

// A command that reads leaves the folder as it was, whatever name it was given; the log of a sweep that was
// killed stays for the next one.
TEST(SweepDatabase, ReadingLeavesNothingBehind) {
  const TemporaryFolder folder, elsewhere;
  const auto file = folder / "r.sqlite";
  {
    Database database(file, test_program());
    fill_with_points(database, 2, 2);
  }
  std::filesystem::remove(file.string() + "-lock");
  const auto linked = elsewhere / "link.sqlite";
  std::filesystem::create_symlink(file, linked);
  for (const auto& name : {file, linked}) {
    EXPECT_FALSE(everything_in(name).empty());
    EXPECT_EQ(folder.files(), 1U) << name;
    EXPECT_EQ(elsewhere.files(), 1U) << name;
  }
  const auto killed = folder / "killed.sqlite";
  {
    Database database(file, test_program());
    fill_with_points(database, 3, 2);
    for (const char* suffix : {"", "-wal"})
      std::filesystem::copy_file(file.string() + suffix, killed.string() + suffix);
  }
  const auto size = std::filesystem::file_size(killed.string() + "-wal");
  ASSERT_GT(size, 0U);
  EXPECT_EQ(count(killed, "points"), 6);
  EXPECT_EQ(std::filesystem::file_size(killed.string() + "-wal"), size);
}

// Who changes a number without its checksum is found out, column by column.
TEST(SweepDatabase, EveryColumnOfARowIsChecked) {
  const TemporaryFolder folder;
  const std::string bytes = bytes_of_a_database(folder);
  const auto file = folder / "changed";
  const auto changed = [&](const std::string& statement) {
    std::ofstream(file, std::ios::binary) << bytes;
    Sqlite(file, Sqlite::Access::kCreate).execute(statement);
    return error_of([&] { everything_in(file); });
  };
  EXPECT_EQ(changed("SELECT 1"), "no error");
  int columns = 0;
  for (const char* table : {"traces", "layers", "designs", "results", "operation_results"}) {
    for (const std::string& column : Sqlite(folder / "good", Sqlite::Access::kRead)
                                         .texts("SELECT name FROM pragma_table_info(?1)", table)) {
      if (column == "checksum") continue;
      ++columns;
      EXPECT_NE(changed(fmt::format("UPDATE {0} SET {1} = CASE typeof({1}) WHEN 'text' THEN {1} || 'x' "
                                    "ELSE ifnull({1}, 0) + 100 END",
                                    table, column)),
                "no error")
          << table << '.' << column;
    }
  }
  EXPECT_GT(columns, 60);
}

// Columns that come with a later version leave checksums as they are, and so does their order.
TEST(SweepDatabase, ChecksumsIgnoreEmptyCellsAndOrder) {
  const std::vector<std::string> names{"a", "b", "c"};
  const std::vector<Cell> cells{std::int64_t{3}, std::string("x"), 0.5};
  const std::int64_t sum = row_checksum(names, cells);
  EXPECT_EQ(sum, row_checksum(std::vector<std::string>{"c", "new", "b", "a"},
                              std::vector<Cell>{0.5, Cell(), std::string("x"), 3.0}));
  EXPECT_NE(sum, row_checksum(std::vector<std::string>{"b", "a", "c"}, cells));
  EXPECT_NE(sum, row_checksum(names, std::vector<Cell>{std::string("3"), std::string("x"), 0.5}));
}

TEST(SweepDatabase, AFileThatIsLostIsRescued) {
  const TemporaryFolder folder;
  const auto file = folder / "r.sqlite";
  Database database(file, test_program());
  fill_with_points(database, 2, 1);
  std::filesystem::remove(file);
  PointRecord point = test_point(1, 0);
  point.key = "later";
  const std::string error = error_of([&] { database.add(std::array{point}); });
  constexpr std::string_view kPlace = "everything computed is in ";
  ASSERT_NE(error.find(kPlace), std::string::npos) << error;
  EXPECT_EQ(count(error.substr(error.find(kPlace) + kPlace.size()), "points"), 3);
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(SweepDatabase, RefusesWhatItCannotUse) {
  const TemporaryFolder folder;
  const auto file = folder / "r.sqlite";
  EXPECT_NE(error_of([&] { Reader reader(file); }).find("there is no such file of results"),
            std::string::npos);
  EXPECT_NE(
      error_of([&] { Database database(folder / "no" / "r.sqlite", test_program()); }).find("cannot write"),
      std::string::npos);
  EXPECT_NE(error_of([&] { Database database(folder.path(), test_program()); }).find("this is a folder"),
            std::string::npos);
  std::ofstream(folder / "text") << std::string(5000, 'x');
  EXPECT_NE(error_of([&] { Database database(folder / "text", test_program()); }).find("not a database"),
            std::string::npos);
  Sqlite(folder / "other", Sqlite::Access::kCreate).execute("CREATE TABLE t (x)");
  EXPECT_NE(error_of([&] {
              Database database(folder / "other", test_program());
            }).find("not written by 'lacuna sweep'"),
            std::string::npos);
  {
    const Database first(file, test_program());
    EXPECT_NE(
        error_of([&] { Database second(file, test_program()); }).find("another sweep writes to it (process"),
        std::string::npos);
    EXPECT_EQ(count(file, "points"), 0);  // reading is allowed
  }
  const Database again(file, test_program());
  Sqlite(folder / "later", Sqlite::Access::kCreate)
      .execute("CREATE TABLE t (x); PRAGMA application_id = 1279345486; PRAGMA user_version = 99");
  EXPECT_NE(error_of([&] { Reader reader(folder / "later"); }).find("its schema is version 99"),
            std::string::npos);
}

}  // namespace
}  // namespace lacuna::sweep

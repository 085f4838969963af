#include "database_seed.hpp"

#include "sweep/store/database.hpp"
#include "sweep/testing/records.hpp"

namespace lacuna {

void write_database(const std::filesystem::path& file) {
  {
    sweep::Database database(file, sweep::test_program());
    sweep::fill_with_points(database, 2, 1);
    database.connection().text("PRAGMA journal_mode = DELETE");
  }
  std::filesystem::remove(file.string() + "-lock");
}

}  // namespace lacuna

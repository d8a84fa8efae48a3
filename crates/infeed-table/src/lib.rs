//! Tables: formats whose unit of reading is a block of rows (row groups, record batches, pages of a query).

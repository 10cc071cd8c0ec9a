package ground

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/jackc/pgx/v5"
)

// Footprint is what operations have left in a database.
type Footprint struct {
	Tables map[string]int64 `json:"tables"` // bytes with indexes and long values, by table
	WAL    int64            `json:"wal"`    // bytes of WAL since the database was made
}

// ReadFootprint reads the sizes of the tables of a database. It vacuums them first, so that space of
// changed rows counts only if it cannot be used again.
func ReadFootprint(ctx context.Context, url string) (f Footprint, err error) {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return f, fmt.Errorf("connect to the database: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if err := conn.QueryRow(ctx, "select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint").
		Scan(&f.WAL); err != nil {
		return f, fmt.Errorf("read the position of the WAL: %w", err)
	}
	if _, err := conn.Exec(ctx, "vacuum"); err != nil {
		return f, fmt.Errorf("vacuum the database: %w", err)
	}
	rows, err := conn.Query(ctx, `select relname::text, pg_total_relation_size(oid) from pg_class
where relkind = 'r' and relnamespace = 'cairn'::regnamespace`)
	if err != nil {
		return f, fmt.Errorf("read the sizes of the tables: %w", err)
	}
	f.Tables = map[string]int64{}
	var table string
	var size int64
	_, err = pgx.ForEachRow(rows, []any{&table, &size}, func() error {
		f.Tables[table] = size
		return nil
	})
	if err != nil {
		return f, fmt.Errorf("read the sizes of the tables: %w", err)
	}
	return f, nil
}

// Since returns what was added after an earlier footprint, divided by a number of operations.
func (f Footprint) Since(before Footprint, operations int) Footprint {
	out := Footprint{Tables: map[string]int64{}, WAL: (f.WAL - before.WAL) / int64(operations)}
	for table, size := range f.Tables {
		if added := (size - before.Tables[table]) / int64(operations); added != 0 {
			out.Tables[table] = added
		}
	}
	return out
}

// Bytes is the size of all tables.
func (f Footprint) Bytes() (sum int64) {
	for _, size := range f.Tables {
		sum += size
	}
	return sum
}

// Print writes the bytes of an operation by table, the largest first.
func (f Footprint) Print(w io.Writer, operation string) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "table\tbytes per %s\n", operation)
	tables := slices.SortedFunc(maps.Keys(f.Tables), func(a, b string) int {
		return cmp.Or(cmp.Compare(f.Tables[b], f.Tables[a]), cmp.Compare(a, b))
	})
	for _, table := range tables {
		fmt.Fprintf(tw, "%s\t%d\n", table, f.Tables[table])
	}
	fmt.Fprintf(tw, "all\t%d\nWAL\t%d\n", f.Bytes(), f.WAL)
	if err := tw.Flush(); err != nil {
		return fmt.Errorf("print the bytes: %w", err)
	}
	return nil
}

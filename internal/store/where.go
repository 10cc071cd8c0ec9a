package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memory"
	"cairn/internal/store/dbsqlc"
)

// where compiles conditions to SQL over a row m of memories. Values become parameters of the statement, so
// that no text of a caller is part of it.
type where struct{ args []any }

// arg adds a parameter and returns its name.
func (w *where) arg(v any) string {
	w.args = append(w.args, v)
	return fmt.Sprintf("$%d", len(w.args))
}

// clause returns an expression that is true or false, never null.
func (w *where) clause(c memory.Condition) (string, error) {
	if c.Joint == "" {
		text, err := w.comparison(c)
		return "coalesce(" + text + ", false)", err
	}
	var parts []string
	for _, p := range c.Parts {
		text, err := w.clause(p)
		if err != nil {
			return "", err
		}
		parts = append(parts, text)
	}
	switch {
	case c.Joint == memory.All && len(parts) == 0, c.Joint == memory.None && len(parts) == 0:
		return "true", nil
	case c.Joint == memory.All:
		return "(" + strings.Join(parts, " and ") + ")", nil
	case c.Joint == memory.Any && len(parts) == 0:
		return "false", nil
	case c.Joint == memory.Any:
		return "(" + strings.Join(parts, " or ") + ")", nil
	case c.Joint == memory.None:
		return "not (" + strings.Join(parts, " or ") + ")", nil
	}
	return "", fault.New(fault.Internal, fmt.Sprintf("unknown joint %q", c.Joint), "")
}

// columns are the expressions of fields with one value. Entries that no mem0 client has stored belong to the
// user or agent that their target names.
var columns = map[memory.Field]string{
	memory.FieldUser: `(case when m.metadata ? 'mem0' then m.metadata->'mem0'->>'user_id' ` +
		`when m.type = 'personal' then m.target end)`,
	memory.FieldAgent: `(case when m.metadata ? 'mem0' then m.metadata->'mem0'->>'agent_id' ` +
		`when m.type = 'procedural' then m.target end)`,
	memory.FieldApp:        `(m.metadata->'mem0'->>'app_id')`,
	memory.FieldRun:        `(m.metadata->'mem0'->>'run_id')`,
	memory.FieldExpiration: `(m.metadata->'mem0'->>'expiration_date')`,
	memory.FieldTimestamp: `coalesce(to_timestamp((m.metadata->'mem0'->>'timestamp')::float8), ` +
		`m.event_time, m.created_at)`,
	memory.FieldCreated: `m.created_at`,
	memory.FieldUpdated: `m.updated_at`,
	memory.FieldContent: `m.content`,
	memory.FieldID:      `m.external_id`,
}

func (w *where) comparison(c memory.Condition) (string, error) {
	switch c.Field {
	case memory.FieldCategories:
		return w.categories(c)
	case memory.FieldMetadata:
		return w.member(c)
	}
	column, known := columns[c.Field]
	if !known {
		return "", fault.New(fault.Internal, fmt.Sprintf("unknown field %q", c.Field), "")
	}
	return w.compared(c, column)
}

// operators are the SQL operators of ordered comparisons.
var operators = map[memory.Comparison]string{memory.Less: "<", memory.AtMost: "<=", memory.Greater: ">",
	memory.AtLeast: ">="}

// compared compares a column of texts or times.
func (w *where) compared(c memory.Condition, column string) (string, error) {
	texts := make([]string, len(c.Values))
	for i, v := range c.Values {
		texts[i] = storable(v.Text)
	}
	timed := c.Field == memory.FieldCreated || c.Field == memory.FieldUpdated || c.Field == memory.FieldTimestamp
	switch c.How {
	case memory.Present:
		return column + " is not null", nil
	case memory.Equal, memory.Different:
		var equal string
		if timed {
			var parts []string
			for _, v := range c.Values {
				parts = append(parts, column+" = "+w.arg(v.Time)+"::timestamptz")
			}
			equal = "(" + strings.Join(append(parts, "false"), " or ") + ")"
		} else {
			equal = column + " = any(" + w.arg(texts) + "::text[])"
		}
		if c.How == memory.Different {
			return "not coalesce(" + equal + ", false)", nil
		}
		return equal, nil
	}
	if len(c.Values) == 0 {
		return "false", nil
	}
	if operator, ordered := operators[c.How]; ordered {
		if timed {
			return column + " " + operator + " " + w.arg(c.Values[0].Time) + "::timestamptz", nil
		}
		return column + ` collate "C" ` + operator + " " + w.arg(texts[0]) + "::text", nil
	}
	return w.contained(c.How, column, texts[0])
}

// contained holds if a column contains a text.
func (w *where) contained(how memory.Comparison, column, text string) (string, error) {
	switch how {
	case memory.Contains:
		return "position(" + w.arg(text) + "::text in " + column + ") > 0", nil
	case memory.ContainsFold:
		return "position(lower(" + w.arg(text) + "::text) in lower(" + column + ")) > 0", nil
	}
	return "", fault.New(fault.Internal, fmt.Sprintf("unknown comparison %q", how), "")
}

// categories compares the list of an entry's categories.
func (w *where) categories(c memory.Condition) (string, error) {
	const list = `(m.metadata->'mem0'->'categories')`
	texts := make([]string, len(c.Values))
	for i, v := range c.Values {
		texts[i] = storable(v.Text)
	}
	switch c.How {
	case memory.Present:
		return "jsonb_array_length(" + list + ") > 0", nil
	case memory.Equal, memory.Contains:
		return list + " ?| " + w.arg(texts) + "::text[]", nil
	case memory.Different:
		return "not coalesce(" + list + " ?| " + w.arg(texts) + "::text[], false)", nil
	}
	return "", fault.New(fault.Internal, fmt.Sprintf("unknown comparison %q of categories", c.How), "")
}

// member compares a metadata member.
func (w *where) member(c memory.Condition) (string, error) {
	value := "(m.metadata->" + w.arg(storable(c.Key)) + "::text)"
	plain := "(" + value + "#>>'{}')"
	switch c.How {
	case memory.Present:
		return value + " is not null and " + value + " <> 'null'::jsonb", nil
	case memory.Equal, memory.Different:
		var parts []string
		for _, v := range c.Values {
			raw, err := encode("a filter", v.JSON)
			if err != nil {
				return "", err
			}
			parts = append(parts, value+" = "+w.arg(string(raw))+"::jsonb")
		}
		equal := "(" + strings.Join(append(parts, "false"), " or ") + ")"
		if c.How == memory.Different {
			return "not coalesce(" + equal + ", false)", nil
		}
		return equal, nil
	}
	if len(c.Values) == 0 {
		return "false", nil
	}
	raw, err := encode("a filter", c.Values[0].JSON)
	if err != nil {
		return "", err
	}
	text := storable(c.Values[0].Text)
	if operator, ordered := operators[c.How]; ordered {
		other := plain + ` collate "C" ` + operator + " " + w.arg(text) + "::text"
		var number json.Number
		if json.Unmarshal(raw, &number) != nil || text == "" || raw[0] == '"' {
			return other, nil //nolint:nilerr // not a number
		}
		return "(case when jsonb_typeof(" + value + ") = 'number' then " + plain + "::numeric " + operator + " " +
			w.arg(string(number)) + "::text::numeric else " + other + " end)", nil
	}
	inside, err := w.contained(c.How, plain, text)
	return "(case when jsonb_typeof(" + value + ") = 'array' then " + value + " @> jsonb_build_array(" +
		w.arg(string(raw)) + "::jsonb) else " + inside + " end)", err
}

// filtered returns the rows of memories that a filter selects, as the end of a statement.
func (q session) filtered(in memory.Filter) (string, *where, error) {
	w := &where{}
	sql := " from memories m where m.workspace_id = " + w.arg(q.ws) + " and m.type = any(" +
		w.arg(typeNames(in.Types)) + "::text[])"
	if len(in.Targets) > 0 {
		sql += " and m.target = any(" + w.arg(texts(in.Targets)) + "::text[])"
	}
	if !in.EveryStatus {
		sql += " and m.status = 'active'"
	}
	if len(in.Metadata) > 0 {
		raw, err := encode("the metadata", in.Metadata)
		if err != nil {
			return "", nil, err
		}
		sql += " and m.metadata @> " + w.arg(string(raw)) + "::jsonb"
	}
	if in.Where != nil {
		clause, err := w.clause(*in.Where)
		if err != nil {
			return "", nil, err
		}
		sql += " and " + clause
	}
	return sql, w, nil
}

// listWhere is LongTermList for a filter with a condition.
func (q session) listWhere(ctx context.Context, in memory.Filter) ([]dbsqlc.Memory, error) {
	sql, w, err := q.filtered(in)
	if err != nil {
		return nil, err
	}
	order, after := "m.id", "m.id > "
	if in.Newest {
		order, after = "m.id desc", "m.id < "
	}
	if in.After != 0 {
		sql += " and " + after + w.arg(in.After)
	}
	sql = "select m.*" + sql + " order by " + order + " limit " + w.arg(in.Limit) + " offset " + w.arg(in.Offset)
	rows, err := q.tx.Query(ctx, sql, w.args...)
	if err != nil {
		return nil, classify("list the memories", err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowToStructByPos[dbsqlc.Memory])
	return out, classify("list the memories", err)
}

// CountWhere counts the entries that a filter selects.
func (q LongTermRepository) CountWhere(ctx context.Context, in memory.Filter) (n int, err error) {
	sql, w, err := q.filtered(in)
	if err != nil {
		return 0, err
	}
	err = q.tx.QueryRow(ctx, "select count(*)"+sql, w.args...).Scan(&n)
	return n, classify("count the memories", err)
}

// Matching returns the documents of the entries that a filter selects, in ascending order: among docs, unless
// it is nil.
func (r indexReader) Matching(ctx context.Context, in memory.Filter, docs []int64) ([]int64, error) {
	rest, w, err := r.filtered(in)
	if err != nil {
		return nil, err
	}
	// The limits make indexes find the rows one by one, whatever the statistics say of a new workspace.
	const document = "d.workspace_id = %[1]s and d.kind = 'memory' and d.seq = 0 and d.status = 'active'"
	owned := fmt.Sprintf(document, w.arg(r.ws))
	sql := "select d.doc from (select m.id" + rest + ") f cross join lateral (select d.doc from search_docs d where " +
		owned + " and d.owner_id = f.id limit 1) d"
	if docs != nil {
		sql = "select d.doc from unnest(" + w.arg(docs) + "::bigint[]) wanted(doc) cross join lateral (select d.doc, " +
			"d.owner_id from search_docs d where " + owned + " and d.doc = wanted.doc limit 1) d " +
			"cross join lateral (select 1" +
			rest + " and m.id = d.owner_id limit 1) f"
	}
	rows, err := r.tx.Query(ctx, sql+" order by d.doc limit "+w.arg(in.Limit), w.args...)
	if err != nil {
		return nil, classify("find the documents of a filter", err)
	}
	out, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	return out, classify("find the documents of a filter", err)
}

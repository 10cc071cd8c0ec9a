package retrieval

import (
	"context"
	"fmt"
	"time"

	"cairn/internal/domain/index"
	domainsearch "cairn/internal/domain/search"
	"cairn/internal/lab/corpus"
	"cairn/internal/service/evaluation"
	"cairn/internal/service/search"
)

const (
	growthK     = 100 // documents per query
	growthAsked = 40  // queries of each kind
	growthWarm  = 10
	maxWords    = 8
)

// growthColumns are the columns of the suite growth. Bytes are the growth of the tables per document.
var growthColumns = []string{"AGREEMENT", "EXACT", "P50 MS", "P99 MS", "ROWS READ", "INDEX BYTES", "ALL BYTES",
	"STORED/S"}

// queryKinds are the kinds of queries of the suite growth.
var queryKinds = []struct {
	name string
	text func(rows corpus.Rows, n, size int) string
}{
	{"needle", func(rows corpus.Rows, n, size int) string { return rows.Question(n * size / growthAsked) }},
	{"frequent", func(rows corpus.Rows, n, _ int) string { return rows.Frequent(n, 2+n%5) }},
	{"mixed", func(rows corpus.Rows, n, size int) string { return rows.Mixed(n, maxWords, size) }},
}

// growth compares what the index of words returns with exhaustive BM25, by size.
func growth(ctx context.Context, of Cairn, o Options) (Report, error) {
	r := Report{Metric: "agreement with exhaustive BM25", Columns: growthColumns}
	err := r.eachVocabulary(o, func(rows corpus.Rows, size int) (timer, error) {
		return r.grown(ctx, of, o, rows, size)
	})
	return r, err
}

// grown measures one vocabulary at one size.
func (r *Report) grown(ctx context.Context, of Cairn, o Options, rows corpus.Rows, size int) (timer, error) {
	queries := make([][]string, len(queryKinds))
	var flat []string
	for k, kind := range queryKinds {
		for n := range growthAsked {
			queries[k] = append(queries[k], kind.text(rows, n, size))
		}
		flat = append(flat, queries[k]...)
	}
	ws, err := of.Store.MakeWorkspace(ctx, fmt.Sprintf("growth-%s-%d", rows.Name, size))
	if err != nil {
		return nil, err
	}
	allBefore, wordsBefore, err := of.Store.Bytes(ctx, ws)
	if err != nil {
		return nil, err
	}
	truth, generate := newExhaustive(flat), pages(rows.Text)
	started := time.Now()
	if err := of.Store.Fill(ctx, ws, size, func(from, to int) []index.Doc {
		docs := generate(from, to)
		truth.add(docs)
		return docs
	}); err != nil {
		return nil, err
	}
	stored := time.Since(started)
	o.Log("%s: stored %d rows in %.1f s", rows.Title, size, stored.Seconds())
	all, words, err := of.Store.Bytes(ctx, ws)
	if err != nil {
		return nil, err
	}
	var took timer
	for k, kind := range queryKinds {
		row, here, err := r.agreement(ctx, of, truth, ws, kind.name, fmt.Sprintf("%s/%d", rows.Name, size), queries[k])
		if err != nil {
			return nil, err
		}
		row.Name, row.Size = rows.Name+" "+kind.name, size
		row.Values["INDEX BYTES"] = float64((words - wordsBefore) / int64(size))
		row.Values["ALL BYTES"] = float64((all - allBefore) / int64(size))
		row.Values["STORED/S"] = float64(int(float64(size) / stored.Seconds()))
		r.Rows, took = append(r.Rows, row), append(took, here...)
	}
	return took, nil
}

// agreement asks the queries of one kind.
func (r *Report) agreement(ctx context.Context, of Cairn, truth *exhaustive, ws int64, kind, id string,
	queries []string) (row Row, took timer, err error) {
	row = Row{Questions: len(queries), Values: map[string]float64{}}
	for i := range growthWarm {
		if _, err := of.Finder.ByWords(ctx, ws, search.Request{Query: queries[i]}, growthK); err != nil {
			return row, nil, err
		}
	}
	exact, agreed, rows := 0, 0.0, 0
	for i, query := range queries {
		var found domainsearch.WordResult
		if err := took.took(func() (err error) {
			found, err = of.Finder.ByWords(ctx, ws, search.Request{Query: query}, growthK)
			return err
		}); err != nil {
			return row, nil, err
		}
		score := agree(found.Hits, truth.best(query, growthK))
		if agreed += score; found.Exact {
			exact++
		}
		rows += found.Rows()
		r.Ranks = append(r.Ranks, Ranked{ID: fmt.Sprintf("%s/%s/%d", id, kind, i), Text: query, Group: kind,
			Score: score})
	}
	n := float64(len(queries))
	row.Values["AGREEMENT"], row.Values["EXACT"] = rounded(agreed/n), rounded(float64(exact)/n)
	row.Values["P50 MS"], row.Values["P99 MS"] = took.percentile(0.5), took.percentile(0.99)
	row.Values["ROWS READ"] = float64(rows / len(queries))
	return row, took, nil
}

// agree is the share of the best scores that were found: hits that reach the last of them.
func agree(hits []domainsearch.WordHit, best []float64) float64 {
	if len(best) == 0 {
		return 1
	}
	reach, least := 0, best[len(best)-1]*(1-slack)
	for _, h := range hits {
		if h.Score >= least {
			reach++
		}
	}
	return float64(min(reach, len(best))) / float64(len(best))
}

// Plot draws the result of the suite growth.
func (r Report) Plot() []byte {
	agreement := r.lines("AGREEMENT", func(row Row) string { return row.Name })
	times := r.lines("P50 MS", func(row Row) string { return row.Name })
	bytes := r.lines("INDEX BYTES", func(row Row) string { return row.Name[:1] })
	foot := "documents, logarithmic"
	return evaluation.SVG(
		evaluation.Chart{
			Title: fmt.Sprintf("agreement of the best %d with exhaustive BM25", growthK),
			Foot:  foot,
			LogX:  true,
			Low:   0.9,
			High:  1,
			Lines: agreement,
		},
		evaluation.Chart{Title: "p50 of a search by words in ms, logarithmic", Foot: foot, LogX: true, LogY: true,
			Values: true, Lines: times},
		evaluation.Chart{Title: "bytes of the index of words per document", Foot: foot, LogX: true, Low: 0, High: 800,
			Values: true, Lines: bytes},
	)
}

// lines are the values of a column by size, one line for each name.
func (r Report) lines(column string, name func(Row) string) (out []evaluation.Line) {
	for _, row := range r.Rows {
		at := 0
		for at < len(out) && out[at].Name != name(row) {
			at++
		}
		if at == len(out) {
			out = append(out, evaluation.Line{Name: name(row)})
		}
		l := &out[at]
		if n := len(l.Points); n > 0 && l.Points[n-1].X == float64(row.Size) {
			continue // the bytes are the same for all kinds of queries
		}
		l.Points = append(l.Points, evaluation.Point{X: float64(row.Size), Y: row.Values[column]})
	}
	return out
}

package speed

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	pgvector "github.com/pgvector/pgvector-go"
	pgxvector "github.com/pgvector/pgvector-go/pgx"

	"cairn/internal/app"
	"cairn/internal/domain/index"
	"cairn/internal/domain/lexical"
	"cairn/internal/domain/skill"
	"cairn/internal/store"
	"cairn/internal/store/dbsqlc"
)

// SearchRow is the result for one library size.
type SearchRow struct {
	Skills     int     `json:"skills"`
	OursP50    float64 `json:"ours_p50_ms"`
	OursP99    float64 `json:"ours_p99_ms"`
	BareP50    float64 `json:"bare_p50_ms"`
	BareP99    float64 `json:"bare_p99_ms"`
	RatioP50   float64 `json:"ratio_p50"`
	RatioP99   float64 `json:"ratio_p99"`
	FoundOwn   float64 `json:"found_own"` // fraction of queries whose own skill is the first result
	SeedSecond float64 `json:"seed_seconds"`
}

const (
	queries = 400 // of each kind, alternating
	limit   = 5
)

// MeasureSearch compares skill search with the same SQL on one connection. The SQL has
// the same transaction statements, and its terms and vector are computed beforehand.
func MeasureSearch(ctx context.Context, h *app.App, databaseURL string, skills int, seed uint64) (SearchRow, error) {
	row := SearchRow{Skills: skills}
	ws, err := h.Store.Workspace(ctx, fmt.Sprintf("search-%d", skills), true)
	if err != nil {
		return row, err
	}
	random := rand.New(rand.NewPCG(seed, uint64(skills)))
	started := time.Now()
	names, err := searchFill(ctx, h, ws.ID, skills, random)
	if err != nil {
		return row, fmt.Errorf("fill: %w", err)
	}
	row.SeedSecond = time.Since(started).Seconds()
	bare, err := connect(ctx, databaseURL)
	if err != nil {
		return row, err
	}
	defer bare.Close(ctx)
	var ours, raw []time.Duration
	for i := range queries + queries/10 { // the first tenth is warm-up
		own := random.IntN(len(names))
		text := question(names[own], random)
		a, first, err := timeOurs(ctx, h, ws.ID, text)
		if err != nil {
			return row, err
		}
		b, err := timeBare(ctx, h, bare, ws.ID, text)
		if err != nil {
			return row, err
		}
		if i < queries/10 {
			continue
		}
		ours, raw = append(ours, a), append(raw, b)
		if first == skill.Canonical(names[own]) {
			row.FoundOwn += 1.0 / queries
		}
	}
	row.OursP50, row.OursP99 = percentile(ours, 0.5), percentile(ours, 0.99)
	row.BareP50, row.BareP99 = percentile(raw, 0.5), percentile(raw, 0.99)
	row.RatioP50, row.RatioP99 = row.OursP50/row.BareP50, row.OursP99/row.BareP99
	return row, nil
}

func timeOurs(ctx context.Context, h *app.App, ws int64, text string) (time.Duration, string, error) {
	started := time.Now()
	found, err := h.Finder.Skills(ctx, ws, text, limit)
	took := time.Since(started)
	if err != nil || len(found) == 0 {
		return took, "", err
	}
	return took, found[0].Skill.Name, nil
}

// timeBare runs the SQL statement of search with the same begin, enter and commit. Terms and
// vector are computed before the measurement.
func timeBare(ctx context.Context, h *app.App, c *pgx.Conn, ws int64, text string) (time.Duration, error) {
	terms := []int32{}
	for _, t := range lexical.Terms(text) {
		terms = append(terms, t.Hash)
	}
	vs, err := h.Embedder.Embed(ctx, []string{text})
	if err != nil {
		return 0, err
	}
	vector := pgvector.NewHalfVector(vs[0])
	started := time.Now()
	tx, err := c.Begin(ctx)
	if err != nil {
		return 0, err
	}
	defer tx.Rollback(ctx)
	if _, err := tx.Exec(ctx, "select cairn.enter($1)", ws); err != nil {
		return 0, err
	}
	rows, err := tx.Query(ctx, dbsqlc.SearchSkills, skill.Canonical(text), ws, []string{string(skill.Active)}, terms,
		vector, h.Space, int32(4*limit))
	if err != nil {
		return 0, err
	}
	for rows.Next() {
		if _, err := rows.Values(); err != nil {
			return 0, err
		}
	}
	if err := rows.Err(); err != nil {
		return 0, err
	}
	err = tx.Commit(ctx)
	return time.Since(started), err
}

// connect opens a connection with the settings of search's pool.
func connect(ctx context.Context, url string) (*pgx.Conn, error) {
	c, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	c.RuntimeParams["role"], c.RuntimeParams["search_path"], c.RuntimeParams["plan_cache_mode"] = "cairn_app",
		"cairn, public", "force_custom_plan"
	conn, err := pgx.ConnectConfig(ctx, c)
	if err != nil {
		return nil, err
	}
	return conn, pgxvector.RegisterTypes(ctx, conn)
}

// searchFill creates skills with unique names.
func searchFill(ctx context.Context, h *app.App, ws int64, n int, random *rand.Rand) ([]string, error) {
	names := make([]string, 0, n)
	const page = 50
	for len(names) < n {
		fresh, err := versions(ctx, h, len(names), min(page, n-len(names)), random)
		if err != nil {
			return nil, err
		}
		err = h.Store.InWorkspace(ctx, ws, func(ctx context.Context, tx store.Tx) error {
			for _, m := range fresh {
				if err := create(ctx, h, tx, m); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		for _, m := range fresh {
			names = append(names, m.DisplayName)
		}
	}
	return names, nil
}

// embedded is a version with the vector of its search text.
type embedded struct {
	skill.Version
	vector []float32
}

// versions returns the next n versions, starting with number at.
func versions(ctx context.Context, h *app.App, at, n int, random *rand.Rand) ([]embedded, error) {
	out, texts := make([]embedded, n), make([]string, n)
	for i := range out {
		d := made(at+i, random)
		v := skill.Version{Name: skill.Canonical(d.Name), DisplayName: d.Name, Description: d.Description,
			Body: string(skill.RenderBody(d)), Lang: "en", Origin: "import"}
		v.ContentSHA, v.PackageSHA = skill.ContentHash(d, nil), sha256.Sum256([]byte(d.Name))
		out[i].Version, texts[i] = v, v.SearchText()
	}
	vectors, err := h.Embedder.Embed(ctx, texts)
	if err != nil {
		return nil, err
	}
	for i := range out {
		out[i].vector = vectors[i]
	}
	return out, nil
}

func create(ctx context.Context, h *app.App, tx store.Tx, e embedded) error {
	if err := tx.Packages().TouchPackage(ctx, e.PackageSHA, "bench/"+e.Name+".zip", 1); err != nil {
		return err
	}
	if err := tx.Packages().PublishPackage(ctx, e.PackageSHA); err != nil {
		return err
	}
	_, err := tx.Skills().CreateSkill(ctx, e.Version, skill.Active,
		index.NewDoc(index.KindSkill, 0, string(skill.Active), e.SearchText()), e.vector, h.Space)
	return err
}

func percentile(ds []time.Duration, p float64) float64 {
	sorted := slices.Sorted(slices.Values(ds))
	return float64(sorted[min(len(sorted)-1, int(p*float64(len(sorted))))].Microseconds()) / 1000
}

// question returns a query for a skill: some words of its name and others.
func question(name string, random *rand.Rand) string {
	words := strings.Fields(name)
	return "how do I " + strings.Join(words, " ") + " " + objects[random.IntN(len(objects))]
}

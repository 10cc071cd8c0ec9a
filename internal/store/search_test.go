package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"cairn/internal/adapter/embedding"
	"cairn/internal/domain/access"
	"cairn/internal/domain/index"
	"cairn/internal/service/search"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// stacks is a workspace with skills, and a finder over them.
type stacks struct {
	*bundle
	embedder embedding.Embedder
	finder   search.Finder
	ids      map[string]int64
}

var shelf = []struct{ name, text string }{
	{"service-deployment-rollback", "Service deployment rollback: restore a failing service to its last healthy " +
		"release, probe health, wait for replicas"},
	{"invoice-refund", "Refund an invoice: look up the order, check the return window, refund to the original " +
		"payment method"},
	{"passport-visa-application", "Apply for a visa: collect the passport scan, fill in the consulate's form, book " +
		"an appointment"},
	{"tomato-compost-garden", "Grow tomatoes: prepare compost, plant in May, water in the morning, cut side shoots"},
	{"客户退款", "处理客户退款：核对订单，确认退货期限，原路退回款项"},
}

func openLibrary(t *testing.T) *stacks {
	t.Helper()
	l := &stacks{bundle: setup(t), embedder: embedding.Hashing(embedding.DefaultDims), ids: map[string]int64{}}
	space, err := l.Space(t.Context(), l.embedder.Model(), l.embedder.Dims())
	testkit.Must(t, err)
	l.finder = search.Finder{Index: l.SearchIndex(), Embedder: l.embedder, Space: space, MinCosine: 0.35}
	for _, s := range shelf {
		l.ids[s.name] = l.put(l.a, s.name, s.text)
	}
	return l
}

// put makes an active skill with one version, indexed by words and vector.
func (l *stacks) put(ws access.Workspace, name, text string) (id int64) {
	l.t.Helper()
	vs, err := l.embedder.Embed(l.t.Context(), []string{text})
	testkit.Must(l.t, err)
	id = int64(l.number(`
with package as (
  insert into packages (workspace_id, sha256, key, bytes, state) values ($1, sha256($2::text::bytea), 'key/' || $2, `+
		`1, 'live')
), skill as (
  insert into skills (workspace_id, name, head_version, origin) values ($1, $2, 1, 'distill') returning id
)
insert into skill_versions (workspace_id, skill_id, version, base_version, display_name, description, body, lang, `+
		`content_sha256, package_sha256, origin)
select $1, id, 1, 0, $2, $3, $3, 'en', sha256('x'), sha256($2::text::bytea), 'distill' from skill returning skill_id`,
		ws.ID, name, text))
	l.in(ws, func(ctx context.Context, q store.Tx) error {
		return q.Documents().PutEmbedding(ctx, l.index(ctx, q, id, text), l.finder.Space, vs[0])
	})
	return id
}

// finds returns the names found in the first workspace.
func (l *stacks) finds(f search.Finder, query string) []string {
	l.t.Helper()
	return l.findsIn(f, l.a, query)
}

func (l *stacks) findsIn(f search.Finder, ws access.Workspace, query string) []string {
	l.t.Helper()
	found, err := f.Skills(l.t.Context(), ws.ID, query, 5)
	testkit.Must(l.t, err)
	names := []string{}
	for _, s := range found {
		names = append(names, s.Skill.Name)
	}
	return names
}

type down struct{}

func (down) Embed(context.Context, []string) ([][]float32, error) { return nil, errors.New("down") }

var questions = map[string]string{
	"how do I roll a failing service back to a healthy release": "service-deployment-rollback",
	"refund to the payment method of the order":                 "invoice-refund",
	"visa appointment at the consulate":                         "passport-visa-application",
	"客户要求退款":                                                    "客户退款",
}

func TestSearchFusesWordsAndVectors(t *testing.T) {
	t.Parallel()
	l := openLibrary(t)
	for query, want := range questions {
		if got := l.finds(l.finder, query); len(got) == 0 || got[0] != want {
			t.Errorf("%q finds %v, want %s first", query, got, want)
		}
	}
	// The first of both lists is the first result, and its score is the sum of its two ranks.
	found, err := l.finder.Skills(t.Context(), l.a.ID, "refund the invoice", 5)
	testkit.Must(t, err)
	if len(found) == 0 || found[0].Skill.Name != "invoice-refund" ||
		fmt.Sprintf("%.6f", found[0].Score) != fmt.Sprintf("%.6f", 2.0/61) {
		t.Errorf("found %+v, want invoice-refund with score 2/61", found)
	}
}

func TestWithoutVectorsWordsAloneFind(t *testing.T) {
	t.Parallel()
	l := openLibrary(t)
	words := l.finder
	words.Embedder = down{}
	for query, want := range map[string]string{"visa appointment consulate": "passport-visa-application",
		"refund invoice order": "invoice-refund", "客户退款": "客户退款"} {
		if got := l.finds(words, query); len(got) == 0 || got[0] != want {
			t.Errorf("%q finds %v, want %s first", query, got, want)
		}
	}
	l.exec("delete from embeddings")
	if got := l.finds(l.finder, "visa appointment consulate"); len(got) == 0 || got[0] != "passport-visa-application" {
		t.Errorf("documents that wait for their vectors: found %v", got)
	}
}

func TestAnUnrelatedQueryFindsNothing(t *testing.T) {
	t.Parallel()
	l := openLibrary(t)
	for _, query := range []string{"quantum chromodynamics lecture", "who won the chess world championship in 1972",
		"今天天气怎么样", "the of and", "!!! ???", ""} {
		if got := l.finds(l.finder, query); len(got) != 0 {
			t.Errorf("%q finds %v", query, got)
		}
	}
}

func TestTheExactNameComesFirst(t *testing.T) {
	t.Parallel()
	l := openLibrary(t)
	// Its text matches refunds less than all the others do.
	l.put(l.a, "refund", "Ask the desk on the second floor")
	for query, want := range map[string]string{"refund": "refund", "Refund": "refund",
		"invoice-refund": "invoice-refund", "Invoice Refund": "invoice-refund", "客户退款": "客户退款"} {
		found, err := l.finder.Skills(t.Context(), l.a.ID, query, 5)
		testkit.Must(t, err)
		if len(found) == 0 || found[0].Skill.Name != want || !found[0].Exact {
			t.Errorf("%q finds %+v, want %s first and exact", query, found, want)
		}
		for _, f := range found[1:] {
			if f.Skill.Name == want {
				t.Errorf("%q finds %s twice", query, want)
			}
		}
	}
	l.exec("update skills set status = 'archived' where name = 'refund'")
	l.exec("update search_docs set status = 'archived' where owner_id = (select id from skills where name = 'refund')")
	for _, name := range l.finds(l.finder, "refund") {
		if name == "refund" {
			t.Error("an archived skill is found")
		}
	}
}

func TestAnotherWorkspacesDocumentsNeverAppear(t *testing.T) {
	t.Parallel()
	l := openLibrary(t)
	for query := range questions {
		if got := l.findsIn(l.finder, l.b, query); len(got) != 0 {
			t.Errorf("an empty workspace finds %v", got)
		}
	}
	l.put(l.b, "visa-for-them", "Apply for a visa at the consulate with a passport")
	for range 30 { // other workspaces' documents do not change a workspace's statistics
		l.index1(l.b, "visa passport consulate appointment")
	}
	if got := l.findsIn(l.finder, l.b, "visa-for-them"); len(got) != 1 || got[0] != "visa-for-them" {
		t.Errorf("its owner finds %v", got)
	}
	for _, query := range []string{"visa-for-them", "apply for a visa at the consulate"} {
		for _, name := range l.finds(l.finder, query) {
			if name == "visa-for-them" {
				t.Errorf("%q finds another workspace's skill", query)
			}
		}
	}
	if got := l.finds(l.finder, "visa appointment at the consulate"); len(got) == 0 ||
		got[0] != "passport-visa-application" {
		t.Errorf("found %v", got)
	}
}

// index1 indexes words of a skill that search does not return.
func (l *stacks) index1(ws access.Workspace, text string) {
	l.t.Helper()
	l.in(ws, func(ctx context.Context, q store.Tx) error {
		owner := int64(1000 + l.number("select count(*) from search_docs"))
		_, err := q.Documents().Index(ctx, index.NewDoc(index.KindSkill, owner, "archived", text))
		return err
	})
}

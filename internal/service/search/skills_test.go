package search_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	domainindex "cairn/internal/domain/index"
	"cairn/internal/domain/skill"
	"cairn/internal/domain/transcript"
	"cairn/internal/service/search"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

func TestSkillsFindsWhatAnswersATask(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.skill("open-boathouse", "Open the boathouse in the morning")
	b.skill("refund-invoice", "Refund an invoice to the original payment method")
	words := b.Finder
	words.Embedder = away{}
	for name, f := range map[string]search.Finder{"words and vectors": b.Finder, "words alone": words} {
		for text, want := range map[string][]string{
			"refund the invoice of a payment": {"refund-invoice"},
			"quarterly tax return":            {},
			"Open-Boathouse":                  {"open-boathouse"},
		} {
			if got := b.names(f, text, 5); !slices.Equal(got, want) {
				t.Errorf("by %s %q finds %v, want %v", name, text, got, want)
			}
		}
	}
	if found, err := b.Skills(t.Context(), b.B.ID, "open-boathouse", 5); err != nil || len(found) != 0 {
		t.Errorf("another workspace finds %+v, %v", found, err)
	}
}

// Only active skills match, unless other states are requested.
func TestSkillsLeavesOutWhatIsNotInForce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.skill("open-boathouse", "Open the boathouse in the morning")
	b.Exec("update skills set status = 'archived'")
	b.Exec("update search_docs set status = 'archived'")
	if got := b.names(b.Finder, "open-boathouse", 5); len(got) != 0 {
		t.Errorf("found %v", got)
	}
	found, err := b.SkillsThatAre(t.Context(), b.A.ID, "open-boathouse", []skill.Status{skill.Archived}, 5)
	if err != nil || len(found) != 1 || !found[0].Exact {
		t.Errorf("among archived skills there is %+v, %v", found, err)
	}
}

// Skills that match neither by words nor by vector are left out. The rest keeps its order up to the limit.
func TestSkillsDropsWhatIsBelowTheFloor(t *testing.T) {
	t.Parallel()
	hit := func(name string, h domainindex.Hit) domainindex.SkillHit {
		return domainindex.SkillHit{Hit: h, Head: skill.Head{Name: name}}
	}
	x := &index{hits: []domainindex.SkillHit{
		{Head: skill.Head{Name: "named"}, Named: true},
		hit("near", domainindex.Hit{Score: 0.4, Cosine: 0.35}),
		hit("neither", domainindex.Hit{Score: 0.3, Hits: 1, Terms: 4, Cosine: 0.34}),
		hit("by words", domainindex.Hit{Score: 0.2, Hits: 2, Terms: 4}),
		hit("too many", domainindex.Hit{Score: 0.1, Cosine: 0.9}),
	}}
	f := search.Finder{Index: x, Embedder: away{}, MinCosine: 0.35}
	found, err := f.Skills(t.Context(), 1, "Some Task", 3)
	if err != nil || len(found) != 3 || found[0].Skill.Name != "named" || found[1].Skill.Name != "near" ||
		found[2].Skill.Name != "by words" {
		t.Fatalf("found %+v, %v", found, err)
	}
	if !found[0].Exact || found[0].Score != 1 || found[1].Exact || found[1].Score != 0.4 || found[1].Cosine != 0.35 {
		t.Errorf("found %+v", found)
	}
	if x.query.Limit <= 3 || x.query.Kind != domainindex.KindSkill || !slices.Equal(x.query.States,
		[]string{"active"}) {
		t.Errorf("the index was asked for %+v", x.query)
	}
	x.hits = nil
	if found, err = f.Skills(t.Context(), 1, "Some Task", 3); err != nil || found == nil || len(found) != 0 {
		t.Errorf("without hits: %+v, %v", found, err)
	}
}

// A word that most documents contain still counts.
func TestAFrequentWordOfAQueryCounts(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.skill("train", "Deploy the web server on Friday morning with care, before anybody has lunch in town")
	b.skill("feast", "Friday feast")
	c := transcript.Conversation{ID: "talk"}
	for n := range 80 {
		c.Messages = append(c.Messages, transcript.Message{Seq: n, Role: transcript.User,
			Content: fmt.Sprintf("Please deploy number %d.", n), Time: spring})
	}
	testkit.Must(t, b.InWorkspace(t.Context(), b.A.ID, func(ctx context.Context, tx store.Tx) error {
		_, err := tx.Transcripts().PutConversation(ctx, c, "import")
		return err
	}))
	b.Finder.Embedder = away{}
	if got := b.names(b.Finder, "deploy on Friday", 2); !slices.Equal(got, []string{"train"}) {
		t.Errorf("found %v", got)
	}
}

package e2e_test

import (
	"testing"

	"cairn/internal/app/config"
	"cairn/internal/domain/distillation"
	"cairn/internal/domain/run"
	"cairn/internal/lab/apptest"
	"cairn/internal/lab/fakes/openaitest"
	"cairn/internal/testkit"
)

// Case E16: the embedder is down while a skill is committed.
func TestASkillGetsItsVectorWhenTheEmbedderIsBack(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	p := openProtocol(t, func(c *config.Config) { c.EmbeddingModel, c.EmbeddingDimensions = "scripted-embedding", 64 })
	p.Model.On(openaitest.Rule{Stage: "embed", Status: 503})
	p.ScriptR1()
	p.ended(p.Distill(apptest.C1()), run.Completed, distillation.Created)
	if n := p.number("select count(*) from embeddings"); n != 0 {
		t.Fatalf("%d vectors without an embedder", n)
	}
	p.until("the relay to meet the embedder", func() bool {
		return p.number("select count(*) from outbox where kind = 'embed' and key in (select doc::text from "+
			"search_docs where kind = 'skill') and last_error <> ''") == 1
	})
	testkit.Must(t, p.Model.Script(openaitest.Script{}))
	p.exec("update outbox set due_at = now()")
	p.until("the vectors of the skill and of what was said", func() bool {
		return p.number("select count(*) from search_docs d where not exists (select from embeddings e where e.doc "+
			"= d.doc)") == 0
	})
	p.until("the duty to go", func() bool { return p.number("select count(*) from outbox") == 0 })
}

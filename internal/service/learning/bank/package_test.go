package bank_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"cairn/internal/adapter/embedding"
	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill/keyedrand"
	"cairn/internal/domain/memoryskill/policy"
	"cairn/internal/domain/prompt"
	"cairn/internal/lab/pgtest"
	"cairn/internal/service/learning"
	"cairn/internal/service/learning/bank"
	"cairn/internal/service/learning/build"
	"cairn/internal/service/ledger"
	"cairn/internal/store"
	"cairn/internal/testkit"
)

// text returns the text of a span: what a person likes if i is even, else what happened when.
func text(i int) string {
	who, thing := []string{"Vera", "Otto", "Mina"}[i%3], []string{"lemons", "walnuts", "books", "tools"}[i%4]
	if i%2 == 0 {
		return fmt.Sprintf("%s likes %s and prefers them over %d other things, a habit of many years.", who, thing, i)
	}
	return fmt.Sprintf("On Tuesday, %d March, %s carried %s to the cellar, which took two hours.", i%31, who, thing)
}

// choices returns the greedy choices of a bank for n spans.
func choices(t *testing.T, h bank.Head, n int) (out []string) {
	t.Helper()
	e := bank.Encoder{Embedder: embedding.Hashing(embedding.DefaultDims)}
	candidates, err := e.Candidates(t.Context(), h.Bank, nil, h.Policy)
	testkit.Must(t, err)
	var texts []string
	for i := range n {
		texts = append(texts, text(i))
	}
	vectors, err := e.Embed(t.Context(), texts)
	testkit.Must(t, err)
	for i := range n {
		d, err := h.Policy.Choose(bank.State(h.Policy, vectors[i], vectors[max(0, i-2):i]), candidates,
			policy.Choice{K: 3, Greedy: true})
		testkit.Must(t, err)
		out = append(out, strings.Join(d.Chosen, " "))
	}
	return out
}

// trained makes a version whose policy has learned from sampled choices, and returns it.
func trained(t *testing.T, l *pgtest.Learning) (out bank.Head) {
	t.Helper()
	ctx := t.Context()
	e := bank.Encoder{Embedder: embedding.Hashing(embedding.DefaultDims)}
	h, err := l.Banks.Head(ctx, l.DB.A.ID, bank.Default)
	testkit.Must(t, err)
	candidates, err := e.Candidates(ctx, h.Bank, nil, h.Policy)
	testkit.Must(t, err)
	vectors, err := e.Skills(ctx, h.Bank.Versions(), h.Policy)
	testkit.Must(t, err)
	for i := range 40 {
		var steps []policy.Step
		for n := range 16 {
			v, err := e.Embed(ctx, []string{text(16*i + n)})
			testkit.Must(t, err)
			d, err := h.Policy.Choose(bank.State(h.Policy, v[0], nil), candidates,
				policy.Choice{K: 1, Key: keyedrand.Key{Run: "test", Iteration: i, Span: n}})
			testkit.Must(t, err)
			d.ID = fmt.Sprint(n)
			one := policy.Step{Decision: d, Credited: true, Done: true}
			right := []string{"preferences", "events_and_dates"}[n%2]
			if slices.ContainsFunc(d.Chosen, func(id string) bool { return strings.HasPrefix(id, right+"@") }) {
				one.Reward = 1
			}
			steps = append(steps, one)
		}
		h.Policy, h.Optimizer, _, err = policy.PPOLearner{}.Update(h.Policy, h.Optimizer, policy.Batch{Steps: steps,
			Vectors: vectors, PPO: policy.DefaultPPO(), Key: keyedrand.Key{Iteration: i}})
		testkit.Must(t, err)
	}
	testkit.Must(t, l.Within(func(ctx context.Context, tx store.Tx) (err error) {
		out, err = l.Banks.Advance(ctx, tx, h.BankRow, bank.Draft{Base: h.Head, Action: bank.ActionTrain, Bank: h.Bank,
			Policy: h.Policy, Optimizer: h.Optimizer, Reason: "test"})
		return err
	}))
	return out
}

func TestAnExportedBankMakesTheSameChoicesInAnotherDatabase(t *testing.T) {
	t.Parallel()
	from, to := pgtest.OpenLearning(t), pgtest.OpenLearning(t)
	_, err := from.Banks.Import(t.Context(), from.DB.A.ID, bank.Default, file("capture_dates", "Adds dates."))
	testkit.Must(t, err)
	made := trained(t, from)
	_, err = from.Banks.SetPrompt(t.Context(), from.DB.A.ID, bank.Default, prompt.Grade, "en", own)
	testkit.Must(t, err)
	_, files, err := from.Banks.Export(t.Context(), from.DB.A.ID, bank.Default, 0)
	testkit.Must(t, err)
	var got bank.Head
	for range 2 {
		got, err = to.Banks.Import(t.Context(), to.DB.A.ID, "published", files)
		testkit.Must(t, err)
	}
	if got.Head != 2 || got.Snapshot() != made.Snapshot() || got.Optimizer.Steps() == 0 ||
		got.Version.Prompts["grade.en"] != own {
		t.Errorf("%+v", got.Version)
	}
	want := choices(t, made, 1000)
	if !slices.Equal(choices(t, got, 1000), want) {
		t.Error("the imported bank makes other choices")
	}
	slices.Sort(want)
	if len(slices.Compact(want)) < 2 {
		t.Errorf("the policy makes one choice for all spans: %v", want)
	}
	_, again, err := to.Banks.Export(t.Context(), to.DB.A.ID, "published", 0)
	testkit.Must(t, err)
	var p bank.Package
	testkit.Must(t, json.Unmarshal(again[bank.PackageFile], &p))
	if p.Recipe.Name != "target" || p.Provenance.Version != 2 ||
		!strings.Contains(p.Provenance.History[0].Reason, "bank default, version 4") {
		t.Errorf("%+v", p.Provenance)
	}
}

func TestAChangedExportIsRefused(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	ctx, ws := t.Context(), l.DB.A.ID
	_, files, err := l.Banks.Export(ctx, ws, bank.Default, 0)
	testkit.Must(t, err)
	with := func(change func(p *bank.Package)) map[string][]byte {
		var p bank.Package
		testkit.Must(t, json.Unmarshal(files[bank.PackageFile], &p))
		change(&p)
		raw, err := json.Marshal(p)
		testkit.Must(t, err)
		return map[string][]byte{bank.PackageFile: raw}
	}
	for what, c := range map[string]struct {
		files map[string][]byte
		code  fault.Code
	}{
		"no JSON":          {map[string][]byte{bank.PackageFile: []byte("{")}, fault.InvalidArgument},
		"another format":   {with(func(p *bank.Package) { p.Format = "bank/2" }), fault.InvalidArgument},
		"an edited skill":  {with(func(p *bank.Package) { p.Skills[0].Skill.Purpose += "!" }), fault.InvalidArgument},
		"an author":        {with(func(p *bank.Package) { p.Skills[0].Author = "ghost" }), fault.InvalidArgument},
		"a missing skill":  {with(func(p *bank.Package) { p.Skills = p.Skills[1:] }), fault.VersionConflict},
		"no room":          {with(func(p *bank.Package) { p.Capacity = 0 }), fault.InvalidArgument},
		"other embeddings": {with(func(p *bank.Package) { p.Encoder.Model = "other" }), fault.InvalidArgument},
		"another kind of policy": {with(func(p *bank.Package) {
			p.Policy = append([]byte("cairnxyz"), p.Policy[8:]...)
		}), fault.InvalidArgument},
		"damaged weights": {with(func(p *bank.Package) { p.Policy[99] ^= 1 }), fault.InvalidArgument},
		"a bad prompt": {with(func(p *bank.Package) {
			p.Prompts = map[string]string{"grade.en": "x"}
		}), fault.InvalidArgument},
	} {
		_, err := l.Banks.Import(ctx, ws, "copy", c.files)
		wants(t, what, err, c.code)
	}
	_, err = l.Banks.Head(ctx, ws, "copy")
	wants(t, "a bank for refused files", err, fault.NotFound)
}

func TestEditedFilesAreChangesOfTheExportedVersion(t *testing.T) {
	t.Parallel()
	from, to := pgtest.OpenLearning(t), pgtest.OpenLearning(t)
	made := trained(t, from)
	_, files, err := from.Banks.Export(t.Context(), from.DB.A.ID, bank.Default, 0)
	testkit.Must(t, err)
	maps.Copy(files, file("capture_dates", "Adds dates."))
	got, err := to.Banks.Import(t.Context(), to.DB.A.ID, bank.Default, files)
	if err != nil || got.Head != 2 || got.Bank.Len() != 11 || got.Policy.Hash() != made.Policy.Hash() ||
		len(got.Version.Fresh) != 1 {
		t.Errorf("%+v, %v", got.Version, err)
	}
	delete(files, "capture_dates.md")
	again, err := from.Banks.Import(t.Context(), from.DB.A.ID, bank.Default, files)
	if err != nil || again.Head != made.Head {
		t.Errorf("its own export made version %d, %v", again.Head, err)
	}
	_, err = from.Banks.Rollback(t.Context(), from.DB.A.ID, bank.Default, 1)
	testkit.Must(t, err)
	maps.Copy(files, file("capture_dates", "Adds dates."))
	edited, err := from.Banks.Import(t.Context(), from.DB.A.ID, bank.Default, files)
	if err != nil || edited.Policy.Hash() == made.Policy.Hash() || edited.Bank.Len() != 11 {
		t.Errorf("an edit of an earlier export brought back its policy: %+v, %v", edited.Version, err)
	}
}

// own is a prompt with all placeholders.
const own = "Judge the answer.\n\n{{material}}\n\n{{language}} {{reply}}"

func TestABankHasItsOwnPrompts(t *testing.T) {
	t.Parallel()
	l := pgtest.OpenLearning(t)
	ctx, ws := t.Context(), l.DB.A.ID
	set := func(stage prompt.Stage, lang, text string) (bank.Head, error) {
		return l.Banks.SetPrompt(ctx, ws, bank.Default, stage, lang, text)
	}
	for what, text := range map[string]string{
		"without the reply":   strings.ReplaceAll(own, "{{reply}}", ""),
		"with another slot":   own + "{{user}}",
		"too long":            own + strings.Repeat("x", 8000),
		"only slots":          "{{material}} {{language}} {{reply}}",
		"with a control byte": own + "\x00",
	} {
		_, err := set(prompt.Grade, "en", text)
		if fault.CodeOf(err) != fault.InvalidArgument || fault.From(err).Hint == "" {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := set(prompt.Judge, "en", own)
	wants(t, "a stage that no bank has", err, fault.InvalidArgument)
	_, err = set(prompt.Grade, "fr", own)
	wants(t, "another language", err, fault.InvalidArgument)
	for range 2 {
		h, err := set(prompt.Grade, "en", own)
		if err != nil || h.Head != 2 || h.Version.Action != bank.ActionPrompt {
			t.Fatalf("%+v, %v", h.Version, err)
		}
	}
	_, err = l.Banks.Import(ctx, ws, bank.Default, file("capture_dates", "Adds dates."))
	testkit.Must(t, err)
	prompts, err := l.Banks.Prompts(ctx, ws, bank.Default, 0)
	testkit.Must(t, err)
	replaced := 0
	for _, p := range prompts {
		if p.Own {
			replaced++
		}
		if p.Own != (p.Stage == prompt.Grade && p.Language == "en") || !strings.Contains(p.Text, "{{material}}") {
			t.Errorf("%+v", p)
		}
	}
	if len(prompts) != 10 || replaced != 1 {
		t.Errorf("%d prompts, %d replaced: a later version has lost the prompt", len(prompts), replaced)
	}
	back, err := l.Banks.Rollback(ctx, ws, bank.Default, 1)
	if err != nil || len(back.Version.Prompts) != 0 {
		t.Errorf("%+v, %v", back.Version, err)
	}
	back, err = l.Banks.Rollback(ctx, ws, bank.Default, 2) // equal skills and policy, another prompt
	if err != nil || back.Version.Prompts["grade.en"] != own {
		t.Errorf("%+v, %v", back.Version, err)
	}
	back, err = set(prompt.Grade, "en", "")
	if err != nil || len(back.Version.Prompts) != 0 {
		t.Errorf("%+v, %v", back.Version, err)
	}
}

// watched records the system messages that a script is asked with.
type watched struct {
	*pgtest.Script
	seen []string
}

func (w *watched) Ask(ctx context.Context, q ledger.Question) (string, error, error) {
	w.seen = append(w.seen, q.Request.System)
	return w.Script.Ask(ctx, q)
}

// A build sends the prompt of its bank, with the shared parts in place of the placeholders.
func TestPromptsOfABankReachTheModel(t *testing.T) {
	t.Parallel()
	w := &watched{Script: pgtest.NewScript()}
	w.On(prompt.Remember, pgtest.InsertAll)
	l := pgtest.OpenLearning(t, func(p *learning.Ports) { p.Asker = w })
	_, err := l.Banks.SetPrompt(t.Context(), l.DB.A.ID, bank.Default, prompt.Remember, "en",
		"Keep only plants.\n{{material}}\n{{language}}\n{{reply}}")
	testkit.Must(t, err)
	k := bank.DefaultSpanOptions()
	k.K = 3
	r, err := l.Builds.Accept(t.Context(), build.Request{Workspace: l.DB.A.ID, Spec: l.Spec(), Keeping: k,
		Messages: pgtest.Dialogue("The greenhouse has nine lemon trees.")})
	testkit.Must(t, err)
	_, err = l.Builds.BuildSpan(t.Context(), r.Ref, 0)
	testkit.Must(t, err)
	if len(w.seen) != 1 || !strings.HasPrefix(w.seen[0], "Keep only plants.\nThe user message holds one fenced JSON") ||
		strings.Contains(w.seen[0], "{{") {
		t.Errorf("%q", w.seen)
	}
}

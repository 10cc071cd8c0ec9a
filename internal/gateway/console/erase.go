package console

import (
	"maps"
	"slices"

	"cairn/internal/domain/erasure"
)

// derivedModes are what can happen to memories and skills that come only from an erased conversation.
var derivedModes = []string{"keep", "quarantine", "delete"}

type erasePage struct {
	Name    string
	Derived string // mode
	Modes   []string
	Rows    []rowCount
	Plan    erasure.Plan
}

type rowCount struct {
	Table string
	Rows  int64
}

func (rq *request) erasure(mode string) (erasure.Target, error) {
	id, err := rq.c.Conversations.Find(rq.ctx, rq.ws(), rq.named("conversation"))
	return erasure.Target{Workspace: rq.ws(), Conversation: id, Derived: mode}, err
}

// planErasure shows what an erasure of the conversation would delete. Nothing is changed.
func (c *Console) planErasure(rq *request) error {
	mode, err := rq.choice("derived", derivedModes...)
	if err != nil {
		return err
	}
	if mode == "" {
		mode = derivedModes[0]
	}
	t, err := rq.erasure(mode)
	if err != nil {
		return err
	}
	out := erasePage{Name: rq.named("conversation"), Derived: mode, Modes: derivedModes}
	if out.Plan, err = c.Erase.Plan(rq.ctx, t); err != nil {
		return err
	}
	for _, table := range slices.Sorted(maps.Keys(out.Plan.Rows)) {
		if n := out.Plan.Rows[table]; n > 0 {
			out.Rows = append(out.Rows, rowCount{table, n})
		}
	}
	return rq.render("erase", "erase.title", out)
}

// eraseConversation accepts the erasure. Its workflow deletes the rows.
func (c *Console) eraseConversation(rq *request) error {
	mode := rq.r.PostFormValue("derived")
	if !slices.Contains(derivedModes, mode) {
		return badParameter("derived", mode, "use the form of the page")
	}
	t, err := rq.erasure(mode)
	if err != nil {
		return err
	}
	if rq.r.PostForm.Get("sure") != "yes" {
		return rq.again(badParameter("sure", "", "mark that you want to erase the conversation"), c.planErasure)
	}
	e, err := c.Erase.Accept(rq.ctx, t)
	if err != nil {
		return rq.again(err, c.planErasure)
	}
	c.StartErase(rq.ctx, e)
	return rq.redirect("erasing", "conversations")
}

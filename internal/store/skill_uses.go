package store

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"cairn/internal/domain/review"
	"cairn/internal/domain/skill"
	"cairn/internal/domain/transcript"
	"cairn/internal/store/dbsqlc"
)

// Use counts a use of a skill once per use ID. An outcome may follow later.
func (q SkillRepository) Use(ctx context.Context, u skill.Use) error {
	fresh, err := q.q.UseInsert(ctx, dbsqlc.UseInsertParams{WorkspaceID: q.ws, SkillID: u.Skill, UseID: storable(u.ID),
		Version: int32(u.Version), ChangeID: orNil(u.Change), Outcome: u.Outcome})
	switch {
	case err != nil:
		return classify("record the use", err)
	case fresh == 0 && u.Outcome != "":
		return q.DecideUse(ctx, u)
	case fresh == 0:
		return nil
	}
	uses := int64(1)
	if u.Vote {
		uses = 0
	}
	if u.Change != 0 { // its outcome is not one of the version in force
		u.Outcome = ""
	}
	return q.count(ctx, u, uses, "")
}

// Listed counts an impression of each skill.
func (q SkillRepository) Listed(ctx context.Context, ids []int64) error {
	return classify("count the impressions",
		q.q.SkillsListed(ctx, dbsqlc.SkillsListedParams{WorkspaceID: q.ws, Ids: ids}))
}

// DecideUse sets, changes or removes the outcome of a use and corrects the counters.
func (q SkillRepository) DecideUse(ctx context.Context, u skill.Use) error {
	was, err := q.q.UseOutcome(ctx, dbsqlc.UseOutcomeParams{Outcome: u.Outcome, WorkspaceID: q.ws, SkillID: u.Skill,
		UseID: storable(u.ID)})
	if errors.Is(err, pgx.ErrNoRows) { // it has this outcome already
		return nil
	}
	if err != nil {
		return classify("record the outcome", err)
	}
	if was.ChangeID != nil { // a canary is not the version in force
		return nil
	}
	return q.count(ctx, u, 0, was.Was)
}

// count adds a use to the counters of its skill, with an outcome in place of the one before.
func (q SkillRepository) count(ctx context.Context, u skill.Use, uses int64, was string) error {
	number := func(yes bool) int32 {
		if yes {
			return 1
		}
		return 0
	}
	return classify("count the use", q.q.SkillUsed(ctx, dbsqlc.SkillUsedParams{
		Uses: uses, Trials: number(u.Outcome != "") - number(was != ""),
		Passes:      number(u.Outcome == skill.Pass) - number(was == skill.Pass),
		WorkspaceID: q.ws, ID: u.Skill}))
}

// PutStatement stores or withdraws a person's statement about a conversation, and returns the uses of
// skills in its turns and the verdict of the latest statement.
func (q SkillUseRepository) PutStatement(ctx context.Context, conversation string, s transcript.Statement,
	max int) ([]skill.Use, transcript.Verdict, error) {
	id, err := q.statement(ctx, conversation, s)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, "", noConversation(conversation)
	}
	if err != nil {
		return nil, "", err
	}
	rows, err := q.q.UsesOfConversation(ctx, dbsqlc.UsesOfConversationParams{WorkspaceID: q.ws, ConversationID: id,
		MaxRows: int32(max)})
	if err != nil {
		return nil, "", classify("read the uses", err)
	}
	uses := make([]skill.Use, len(rows))
	for i, r := range rows {
		uses[i] = skill.Use{Skill: r.SkillID, ID: r.UseID, Version: int(r.Version)}
	}
	all, err := Tx(q).ConversationViews().Statements(ctx, id)
	if err != nil || len(all) == 0 {
		return uses, transcript.Unknown, err
	}
	return uses, all[0].Outcome, nil
}

func (q SkillUseRepository) statement(ctx context.Context, name string, s transcript.Statement) (id int64,
	err error) {
	if s.Outcome != transcript.Unknown {
		id, err = q.q.OutcomePut(ctx, dbsqlc.OutcomePutParams{WorkspaceID: q.ws, ExternalID: name,
			Voter: s.Voter, Outcome: string(s.Outcome), Note: storable(s.Note)})
		return id, classify("state the outcome", err)
	}
	c, err := q.q.ConversationByName(ctx, dbsqlc.ConversationByNameParams{WorkspaceID: q.ws, ExternalID: name})
	if err != nil {
		return 0, classify("read the conversation", err)
	}
	return c.ID, classify("withdraw the outcome", q.q.OutcomeDelete(ctx,
		dbsqlc.OutcomeDeleteParams{WorkspaceID: q.ws, ConversationID: c.ID, Voter: s.Voter}))
}

// UsesOfRun lists the uses of skills in a run.
func (q SkillUseRepository) UsesOfRun(ctx context.Context, run string, max int) ([]skill.Use, error) {
	rows, err := q.q.UsesOfRun(ctx, dbsqlc.UsesOfRunParams{WorkspaceID: q.ws, RunID: run, MaxRows: int32(max)})
	out := make([]skill.Use, len(rows))
	for i, r := range rows {
		out[i] = skill.Use{Skill: r.SkillID, ID: r.UseID, Version: int(r.Version)}
	}
	return out, classify("read the uses", err)
}

// Trials lists the outcomes of a skill's uses, the latest first.
func (q SkillUseRepository) Trials(ctx context.Context, id int64, max int) ([]review.Trial, error) {
	rows, err := q.q.UseOutcomes(ctx, dbsqlc.UseOutcomesParams{WorkspaceID: q.ws, SkillID: id, MaxRows: int32(max)})
	out := make([]review.Trial, len(rows))
	for i, r := range rows {
		out[i] = review.Trial{Version: int(r.Version), Passed: r.Outcome == skill.Pass}
	}
	return out, classify("read the outcomes of uses", err)
}

// CanaryTrials lists the outcomes of a canary and of the version in force in conversations, the latest first.
func (q PendingSkillRepository) CanaryTrials(ctx context.Context, p skill.Pending, max int) (out review.Canary,
	err error) {
	rows, err := q.q.SkillCanaryOutcomes(ctx, dbsqlc.SkillCanaryOutcomesParams{WorkspaceID: q.ws, SkillID: p.Skill,
		ChangeID: &p.ID, Version: int32(p.Base), MaxRows: int32(max)})
	for _, r := range rows {
		t := review.Trial{Version: int(r.Version), Passed: r.Outcome == skill.Pass}
		if r.Canary {
			out.Proposed = append(out.Proposed, t)
		} else {
			out.Current = append(out.Current, t)
		}
	}
	return out, classify("read the outcomes of the canary", err)
}

// AdoptCanary makes the uses of a canary those of the version that it has become.
func (q PendingSkillRepository) AdoptCanary(ctx context.Context, skill, change int64, version int) error {
	r, err := q.q.SkillCanaryAdopt(
		ctx,
		dbsqlc.SkillCanaryAdoptParams{WorkspaceID: q.ws, SkillID: skill, ChangeID: &change,
			Version: int32(version)},
	)
	if err != nil {
		return classify("adopt the uses of the canary", err)
	}
	return classify("count the outcomes", q.q.SkillUsed(ctx, dbsqlc.SkillUsedParams{Trials: r.Trials, Passes: r.Passes,
		WorkspaceID: q.ws, ID: skill}))
}

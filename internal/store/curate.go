package store

import (
	"context"
	"time"

	"cairn/internal/domain/readmodel"
	"cairn/internal/domain/skill"
	"cairn/internal/store/dbsqlc"
)

// CuratedSkills lists active and stale skills, and locks them until the transaction ends.
func (q CurationRepository) CuratedSkills(ctx context.Context) ([]readmodel.CuratedSkill, error) {
	rows, err := q.q.SkillsToCurate(ctx, q.ws)
	out := make([]readmodel.CuratedSkill, len(rows))
	for i, r := range rows {
		out[i] = readmodel.CuratedSkill{ID: r.ID, Name: r.Name, Status: skill.Status(r.Status), Managed: r.Managed,
			Pinned: r.Pinned, Scheduled: r.Scheduled, Eta: float64(r.Eta), Trials: int(r.Trials),
			Unused: seconds(r.UnusedSeconds), Unchanged: seconds(r.UnchangedSeconds), Description: r.Description,
			BodySHA: r.BodySha}
	}
	return out, classify("list the skills to curate", err)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Insights returns the used and unused skills and the costs within a span up to now.
func (q CurationRepository) Insights(ctx context.Context, span time.Duration) (out readmodel.Insights, err error) {
	out = readmodel.Insights{Skills: []readmodel.SkillUsage{}, Runs: []readmodel.KindUsage{},
		Saves: []readmodel.DayCount{}}
	skills, err := q.q.SkillInsights(ctx, dbsqlc.SkillInsightsParams{WorkspaceID: q.ws, Span: span})
	if err != nil {
		return out, classify("count the uses of skills", err)
	}
	for _, r := range skills {
		out.Skills = append(out.Skills, readmodel.SkillUsage{Name: r.Name, Status: skill.Status(r.Status),
			Origin: r.Origin, Managed: r.Managed, Pinned: r.Pinned, Version: int(r.HeadVersion), Uses: int(r.Uses),
			Passes: int(r.Passes), Fails: int(r.Fails), Ever: r.UsesEver, Reliability: float64(r.Eta),
			LastUsed: r.LastUsedAt, Created: r.CreatedAt, Tokens: r.Tokens, Micros: r.Micros})
	}
	runs, err := q.q.RunInsights(ctx, dbsqlc.RunInsightsParams{WorkspaceID: q.ws, Span: span})
	if err != nil {
		return out, classify("count the costs of runs", err)
	}
	for _, r := range runs {
		out.Runs = append(out.Runs, readmodel.KindUsage{Kind: r.Kind, Runs: int(r.Runs), Calls: int(r.Calls),
			Tokens: r.Tokens, Micros: r.Micros, Unpriced: int(r.Unpriced)})
	}
	days, err := q.q.SavesPerDay(ctx, dbsqlc.SavesPerDayParams{WorkspaceID: q.ws, Span: span})
	for _, r := range days {
		out.Saves = append(out.Saves, readmodel.DayCount{Day: r.Day, Origin: r.Origin, Versions: int(r.Versions),
			Made: int(r.Made)})
	}
	return out, classify("count the saves by day", err)
}

package postgres

import (
	"context"
	"time"

	"cairn/internal/adapter/postgres/dbsqlc"
	"cairn/internal/service/search"
)

// Find ranks and reads documents in one statement.
func (s searchIndex) Find(ctx context.Context, ws int64, in search.Probe) (out []search.Result, err error) {
	vector, space := vectorOf(search.Query{Vector: in.Vector, Space: in.Space})
	p := dbsqlc.FindDocsParams{WorkspaceID: ws, Kinds: nonNil(in.Kinds), Types: typeNames(in.Types),
		Targets: nonNil(in.Targets), Terms: terms(in.Terms), Query: vector, Space: space,
		VectorShare: in.VectorShare, MinCosine: in.MinCosine, Since: timeOrNull(in.After), Until: timeOrNull(in.Before),
		Within: storable(in.Conversation),
		Year:   int32(in.Date.Year), Month: int32(in.Date.Month), Day: int32(in.Date.Day), AsksWhen: in.AsksWhen,
		MaxRows:   int32(in.Limit),
		SkillName: storable(in.Named.Skill), MemoryID: storable(in.Named.Memory), TurnSeq: int32(in.Named.Seq),
		TurnConversation: storable(in.Named.Conversation)}
	err = s.InWorkspace(ctx, ws, func(ctx context.Context, q Tx) error {
		rows, err := q.q.FindDocs(ctx, p)
		for _, r := range rows {
			out = append(out, resultOf(r))
		}
		return classify("find", err)
	})
	return out, err
}

func resultOf(r dbsqlc.FindDocsRow) search.Result {
	out := search.Result{Kind: r.Kind, ID: r.Name, Text: r.Text, Score: r.Score, Cosine: r.Cosine, Exact: r.Named,
		Type: r.Type, Target: r.Target,
		Conversation: r.Conversation, FromSeq: int(r.FromSeq), ToSeq: int(r.ToSeq)}
	if r.Timed {
		out.EventTime = &r.EventTime
	}
	if r.Kind == search.KindTurn {
		out.ID = search.TurnID(r.Conversation, int(r.Seq))
	}
	return out
}

func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// nonNil turns nil into an empty array, which SQL can count.
func nonNil(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

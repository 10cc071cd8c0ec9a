package converse

import (
	"context"
	"fmt"
	"strings"
	"time"

	"cairn/internal/prompt"
	"cairn/internal/settings"
)

// pinContext gives a turn, once, what is volatile and so may not stand in its
// session: the time at which it was accepted, and what has changed since the
// session was frozen. It is told with the message in every request of the turn.
func (j *job) pinContext(ctx context.Context, tx Tx) error {
	if j.turn.Context != "" {
		return nil
	}
	news, err := tx.News(ctx, j.turn, j.session.CreatedAt)
	if err != nil {
		return err
	}
	zone, err := time.LoadLocation(news.Zone)
	if err != nil {
		return fmt.Errorf("load the workspace's time zone: %w", err)
	}
	told := prompt.Context(j.spec.Lang, prompt.Moment{Now: j.turn.AcceptedAt.In(zone), Zone: news.Zone, Changed: news.Changed, Approved: news.Approved, Rejected: news.Rejected, Memories: news.Memories})
	j.turn.Context, err = tx.PinContext(ctx, j.turn, "", told)
	return err
}

// refresh adds to the context of a turn that is answered from long-term memory
// who the agent is and whom there are memories about, when its session says
// something else. It is done before the first response, and once.
func (s *Service) refresh(ctx context.Context, j *job) error {
	if j.spec.Agent != settings.Remy || len(j.steps) > 0 {
		return nil
	}
	identity, meta, err := s.Memory.About(ctx, j.run.Workspace)
	if err != nil {
		return fmt.Errorf("read what there are memories about: %w", err)
	}
	var m prompt.Moment
	if !strings.Contains(j.session.Rendered, strings.TrimSpace(identity)) {
		m.Identity = identity
	}
	if !strings.Contains(j.session.Rendered, strings.TrimSpace(meta)) {
		m.Meta = meta
	}
	told := prompt.MoreContext(j.turn.Context, j.spec.Lang, m)
	if told == j.turn.Context {
		return nil
	}
	return s.Store.WithConversations(ctx, j.run.Workspace, func(tx Tx) (err error) {
		j.turn.Context, err = tx.PinContext(ctx, j.turn, j.turn.Context, told)
		return err
	})
}

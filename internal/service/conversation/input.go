package conversation

import (
	"context"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/transcript"
)

// overInput tells that the next request would take a run over what all of its
// requests may cost together: what they did cost, and a guess at this one.
func (s *Service) overInput(ctx context.Context, j *runState, step agent.Step, stored bool) (over bool, err error) {
	limit := j.spec.Limits.InputTokens
	if limit == 0 || stored {
		return false, nil
	}
	used := 0
	err = s.Store.WithConversations(ctx, j.run.Workspace, func(ctx context.Context, tx Tx) error {
		used, err = tx.Runs().InputTokens(ctx, j.run.Ref.Run)
		return err
	})
	return used+tokensOf(j.request(step, "", false)) > limit, err
}

func tokensOf(r llm.Request) int {
	n := llm.EstimateTokens(r.System)
	for _, m := range r.Messages {
		n += llm.EstimateTokens(m.Content)
		for _, c := range m.Calls {
			n += llm.EstimateTokens(c.Arguments)
		}
	}
	for _, t := range r.Tools {
		n += llm.EstimateTokens(t.Description) + llm.EstimateTokens(string(t.Schema))
	}
	return n
}

// leastChars is what is left of a message at least when a material has to shrink.
const leastChars = 100

// Fitted shortens the messages of a material, the longest first, until it has at
// most so many tokens; what came before goes when that is not enough.
func Fitted(m prompt.Material, tokens int) prompt.Material {
	size := func() (n int) {
		for _, part := range [][]prompt.Message{m.History, m.Messages} {
			for _, one := range part {
				n += llm.EstimateTokens(one.Content)
			}
		}
		return n
	}
	longest := 0
	for _, one := range m.Messages {
		longest = max(longest, len([]rune(one.Content)))
	}
	for chars := longest / 2; tokens > 0 && size() > tokens && chars >= leastChars; chars /= 2 {
		for i := range m.Messages {
			m.Messages[i].Content = transcript.Clip(m.Messages[i].Content, chars)
		}
	}
	if tokens > 0 && size() > tokens {
		m.History = nil
	}
	return m
}

package agentrun

import (
	"context"

	"cairn/internal/domain/agent"
	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/transcript"
	"cairn/internal/store"
)

// overInput reports whether the next request would exceed the input budget of the run: the tokens
// of all earlier requests plus an estimate for this one.
func (s *Service) overInput(ctx context.Context, st *runState, step agent.Step) (over bool, err error) {
	limit := st.spec.Limits.InputTokens
	if limit == 0 {
		return false, nil
	}
	used := 0
	err = s.Store.InWorkspaceByKeys(ctx, st.run.Workspace, func(ctx context.Context, tx store.Tx) error {
		used, err = tx.Runs().InputTokens(ctx, st.run.Ref.Run)
		return err
	})
	return used+tokensOf(st.request(step, "", 0, false)) > limit, err
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

// minChars is the minimum length of a message that Fitted shortens.
const minChars = 100

// Fitted shortens the messages of a material, the longest first, until it has at most the given
// number of tokens. If that is not enough, it drops the history.
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
	for chars := longest / 2; tokens > 0 && size() > tokens && chars >= minChars; chars /= 2 {
		for i := range m.Messages {
			m.Messages[i].Content = transcript.Clip(m.Messages[i].Content, chars)
		}
	}
	if tokens > 0 && size() > tokens {
		m.History = nil
	}
	return m
}

package live

import (
	"slices"
	"strings"

	"cairn/internal/domain/guard"
	"cairn/internal/domain/learning"
	"cairn/internal/domain/lexical"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/prompt"
	"cairn/internal/service/learning/bank"
)

// checkPairs returns the valid questions. A valid question is short and refers to messages in the
// prompt. Its answer occurs in these messages but not in the question. It contains no prompt
// injection, because a transcript can steer the model.
func checkPairs(pairs []pair, shown []prompt.Message, spans []executor.Span,
	made []learning.Decision) (out []learning.Probe) {
	texts := map[int]string{}
	for _, m := range shown {
		texts[m.Index] += m.Content + "\n"
	}
	for _, one := range pairs {
		p := learning.Probe{Question: strings.TrimSpace(one.Question), Answer: strings.TrimSpace(one.Answer),
			State: StateOpen}
		var grounds []string
		for _, seq := range one.Evidence {
			if text, exists := texts[seq]; exists && !slices.Contains(p.Evidence, seq) &&
				len(p.Evidence) < maxEvidence {
				p.Evidence, grounds = append(p.Evidence, seq), append(grounds, text)
			}
		}
		slices.Sort(p.Evidence)
		p.Decisions = decisionsBehind(p.Evidence, spans, made)
		switch {
		case len(out) == maxProbes:
			return out
		case p.Question == "" || len([]rune(p.Question)) > maxQuestionRunes || len([]rune(p.Answer)) > maxAnswerRunes:
		case len(p.Decisions) == 0 || bank.Recall([]string{p.Answer}, strings.Join(grounds, "\n")) < minGrounded:
		case !isInformative(p) || len(guard.Scan(p.Question+"\n"+p.Answer, guard.Context)) > 0:
		case slices.ContainsFunc(out, func(o learning.Probe) bool {
			return bank.Key(o.Question) == bank.Key(p.Question)
		}):
		default:
			out = append(out, p)
		}
	}
	return out
}

// isInformative reports whether an answer adds something to its question.
func isInformative(p learning.Probe) bool {
	asked := lexical.Words(p.Question)
	return slices.ContainsFunc(lexical.Words(p.Answer), func(w string) bool {
		return !lexical.IsStopword(w) &&
			!slices.Contains(asked, w)
	})
}

// decisionsBehind returns the decisions of the spans that contain any of the messages.
func decisionsBehind(seqs []int, spans []executor.Span, made []learning.Decision) (out []string) {
	for _, d := range made {
		i := slices.IndexFunc(spans, func(s executor.Span) bool { return s.Number == d.Span })
		if i >= 0 && slices.ContainsFunc(spans[i].Parts,
			func(p executor.Part) bool { return slices.Contains(seqs, p.Seq) }) {
			out = append(out, d.ID)
		}
	}
	return out
}

package learning

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"cairn/internal/domain/guard"
	"cairn/internal/domain/memory"
	"cairn/internal/domain/memoryskill"
	"cairn/internal/domain/memoryskill/executor"
	"cairn/internal/domain/memoryskill/keyedrand"
)

// Trace is a conversation about which there are questions with known answers.
type Trace struct {
	Conversation int64
	Lang         string
	Spans        []executor.Span
	Texts        map[int]string // of messages, by sequence number
	Questions    []Case
}

// traces are the conversations that a bank's known questions are about, ascending.
func (s *Service) traces(ctx context.Context, tx Tx, bank int64) ([]int64, map[int64][]Case, error) {
	known, err := tx.Cases().KnownCases(ctx, bank)
	if err != nil {
		return nil, nil, err
	}
	by := map[int64][]Case{}
	for _, c := range known {
		by[c.Conversation] = append(by[c.Conversation], c)
	}
	return slices.Sorted(maps.Keys(by)), by, nil
}

// sampled are the questions that an episode asks of a trace: all of them, or of
// each category as many as its quota is, drawn anew in each iteration.
func sampled(questions []Case, spec TrainSpec, stage, iteration int) (out []Case) {
	if spec.Sample == 0 || spec.Sample == 1 || len(questions) == 0 {
		return questions
	}
	numbers, sizes := map[string]int{}, map[int]int{}
	for _, q := range questions {
		numbers[q.Category] = 0
	}
	for n, category := range slices.Sorted(maps.Keys(numbers)) {
		numbers[category] = n
	}
	for _, q := range questions {
		sizes[numbers[q.Category]]++
	}
	left := memoryskill.Quotas(sizes, spec.Sample)
	order := slices.Clone(questions)
	draw := keyedrand.Key{Run: spec.Seed, Stage: stage, Iteration: iteration, Purpose: fmt.Sprintf("sample/%d", questions[0].Conversation)}.Stream()
	draw.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	for _, q := range order {
		if n := numbers[q.Category]; left[n] > 0 {
			left[n]--
			out = append(out, q)
		}
	}
	slices.SortFunc(out, func(a, b Case) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// split holds every third conversation back, the second of each three: a round
// that changes a bank is judged on what it has not looked at.
func split(conversations []int64) (train, held []int64) {
	for i, id := range conversations {
		if i%3 == 1 {
			held = append(held, id)
		} else {
			train = append(train, id)
		}
	}
	return train, held
}

// trace reads a conversation as episodes go through it, with secrets taken out.
func (s *Service) trace(ctx context.Context, tx Tx, conversation int64, questions []Case, how executor.Spanning) (Trace, error) {
	const all = 1 << 30
	c, err := tx.Transcripts().Conversation(ctx, conversation, 0, all)
	if err != nil {
		return Trace{}, err
	}
	said, _ := guard.NewRedactor(guard.Options{}).Messages(memory.Said(c.Messages))
	out := Trace{Conversation: conversation, Lang: language(said), Spans: executor.Spans(said, how), Texts: map[int]string{}, Questions: questions}
	for _, m := range said {
		out.Texts[m.Seq] = m.Content
	}
	return out, nil
}

// evidence are the texts of the messages that hold the answer of a question.
func (t Trace) evidence(c Case) (out []string) {
	for _, seq := range c.Evidence {
		if text := t.Texts[seq]; text != "" {
			out = append(out, text)
		}
	}
	return out
}

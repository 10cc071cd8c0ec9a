package distill

import (
	"cmp"
	"slices"

	"cairn/internal/domain/distillation"
	"cairn/internal/domain/lang"
	"cairn/internal/domain/prompt"
	"cairn/internal/domain/transcript"
)

// Shares of the context of a model, in percent. The rest, a quarter, is for the reply and for repairs.
const (
	windowShare = 60 // of the transcript
	extraShare  = 12 // of candidates, history, drafts and excerpts
	// fixedTokens is the size of the longest instructions with their schema.
	fixedTokens = 3_000
	// defaultContext is that of a run whose configuration states none, in tokens.
	defaultContext = 128_000
	// messageTokens is the size of the fields of a message around its text.
	messageTokens = 16
)

func (l Limits) context() int { return cmp.Or(l.Context, defaultContext) }

// windowTokens is the size of a window.
func (l Limits) windowTokens() int {
	return min(l.context()*windowShare/100, l.context()*(75-extraShare)/100-fixedTokens)
}

// view is the part of the transcript that a request shows.
type view struct {
	window []prompt.Message
	ranges [][2]int // messages of the task in the window; nil for all
	shared bool     // other requests begin with the same window
}

// windows divides the transcript into parts that a request can hold, at the messages of users. Equal
// transcripts give equal windows in all steps of a run.
func (j job) windows() [][]prompt.Message {
	rendered := transcript.Material(j.conv.Messages, j.spec.Limits.ToolOutputChars)
	return cut(rendered, j.spec.Limits.windowTokens())
}

func cut(messages []prompt.Message, limit int) (out [][]prompt.Message) {
	var window []prompt.Message
	size := 0
	add := func(part []prompt.Message) {
		n := tokens(part)
		if size+n > limit && len(window) > 0 {
			out, window, size = append(out, window), nil, 0
		}
		window, size = append(window, part...), size+n
	}
	for from := 0; from < len(messages); {
		to := from + 1
		for to < len(messages) && messages[to].Role != string(transcript.User) {
			to++
		}
		if turn := messages[from:to]; tokens(turn) <= limit {
			add(turn)
		} else {
			for _, m := range turn {
				add([]prompt.Message{shortened(m, limit)})
			}
		}
		from = to
	}
	if len(window) > 0 {
		out = append(out, window)
	}
	return out
}

// shortened clips a message that is longer than a window.
func shortened(m prompt.Message, limit int) prompt.Message {
	for chars := 4 * limit; tokens([]prompt.Message{m}) > limit && chars > 0; chars /= 2 {
		m = clipped(m, chars)
	}
	return m
}

func clipped(m prompt.Message, chars int) prompt.Message {
	m.Content = transcript.Clip(m.Content, chars)
	m.ToolCalls = slices.Clone(m.ToolCalls)
	for i, call := range m.ToolCalls {
		m.ToolCalls[i] = transcript.Clip(call, chars)
	}
	return m
}

// tokens estimates the size of messages, and rather too high.
func tokens(messages []prompt.Message) int {
	n := 0
	for _, m := range messages {
		n += messageTokens + lang.MaxTokens(m.Content)
		for _, call := range m.ToolCalls {
			n += lang.MaxTokens(call)
		}
	}
	return n
}

// views returns what requests about a task show: one view if a request can hold the task, else one for each
// window. With share, they show the whole window, which other requests about it show as well.
func (j job) views(t distillation.Task, share bool) []view {
	inTask := make(map[int]bool, len(t.Seqs))
	for _, seq := range t.Seqs {
		inTask[seq] = true
	}
	var out []view
	var own []prompt.Message
	for _, w := range j.windows() {
		part, ranges := rangesOf(w, inTask)
		if len(part) == 0 {
			continue
		}
		own = append(own, part...)
		v := view{window: part}
		// A window of which nearly all belongs to the task costs as little as the task alone.
		if share || len(part) == len(w) || 10*tokens(part) >= 9*tokens(w) {
			v = view{window: w, ranges: ranges, shared: true}
		}
		out = append(out, v)
	}
	if len(out) > 1 && tokens(own) <= j.spec.Limits.windowTokens() {
		return []view{{window: own}}
	}
	return out
}

// rangesOf returns the messages of a window that belong to a task, and their ranges: none if all do.
func rangesOf(window []prompt.Message, inTask map[int]bool) (part []prompt.Message, ranges [][2]int) {
	before := false
	for _, m := range window {
		if inTask[m.Index] {
			if !before {
				ranges = append(ranges, [2]int{m.Index, m.Index})
			}
			ranges[len(ranges)-1][1] = m.Index
			part = append(part, m)
		}
		before = inTask[m.Index]
	}
	if len(part) == len(window) {
		ranges = nil
	}
	return part, ranges
}

// Limits of excerpts.
const (
	excerptShare = 8 // one part in so many of the task
	minExcerpts  = 500
	maxExcerpts  = 6_000
)

// excerpts returns the messages that a draft cites, shortened to a fraction of the task.
func (j job) excerpts(t distillation.Task) []prompt.Message {
	cited := transcript.Material(j.messages(t.Draft.Evidence), j.spec.Limits.ToolOutputChars)
	limit := min(max(tokens(j.task(t))/excerptShare, minExcerpts), maxExcerpts)
	for chars := 1200; tokens(cited) > limit && chars >= 75; chars /= 2 {
		for i, m := range cited {
			cited[i] = clipped(m, chars)
		}
	}
	for len(cited) > 2 && tokens(cited) > limit { // the request and the result say most
		middle := len(cited) / 2
		cited = slices.Delete(cited, middle, middle+1)
	}
	return cited
}

// task returns the messages of a task.
func (j job) task(t distillation.Task) []prompt.Message {
	return transcript.Material(j.messages(t.Seqs), j.spec.Limits.ToolOutputChars)
}

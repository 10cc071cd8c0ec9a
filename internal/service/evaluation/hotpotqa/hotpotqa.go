// Package hotpotqa reads HotpotQA files (hotpotqa.github.io): a question over
// paragraphs of which few matter. A file may hold several right answers to a
// question, and its paragraphs as one text.
package hotpotqa

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"cairn/internal/domain/fault"
	"cairn/internal/domain/memoryskill/executor"
)

// Sample is one question with its paragraphs.
type Sample struct {
	ID         string
	Question   string
	Answers    []string // any of them will do
	Paragraphs []Paragraph
	Evidence   []int // indices of the paragraphs that hold the answer, ascending, where the file tells
}

// Paragraph is one document.
type Paragraph struct{ Title, Text string }

type wire struct {
	ID       string              `json:"_id"`
	Question string              `json:"question"`
	Answer   string              `json:"answer"`
	Answers  []string            `json:"answers"`
	Facts    [][]json.RawMessage `json:"supporting_facts"`
	Context  json.RawMessage     `json:"context"`
}

// Open reads the file at path.
func Open(path string) ([]Sample, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fault.Wrap(err, fault.InvalidArgument, "the data cannot be opened",
			"give a file of HotpotQA, hotpot_dev_distractor_v1.json for instance")
	}
	defer file.Close()
	out, err := Read(file)
	if err != nil {
		return nil, fault.Wrap(err, fault.InvalidArgument, path+" is no HotpotQA file",
			"it is a JSON array of objects with `question` and `context`")
	}
	return out, nil
}

// Read reads samples and says where a bad one is bad.
func Read(from io.Reader) (out []Sample, err error) {
	var all []wire
	if err := json.NewDecoder(from).Decode(&all); err != nil {
		return nil, fmt.Errorf("read the JSON: %w", err)
	}
	for i, w := range all {
		s := Sample{ID: w.ID, Question: w.Question, Answers: w.Answers}
		if s.ID == "" {
			s.ID = fmt.Sprintf("question-%d", i+1)
		}
		if w.Answer != "" {
			s.Answers = append(s.Answers, w.Answer)
		}
		if s.Question == "" || len(s.Answers) == 0 {
			return nil, fmt.Errorf("question %d has no text or no answer", i+1)
		}
		if s.Paragraphs, err = paragraphs(w.Context); err != nil {
			return nil, fmt.Errorf("question %d has no paragraphs that can be read: %w", i+1, err)
		}
		if len(s.Paragraphs) == 0 {
			return nil, fmt.Errorf("question %d has no paragraphs", i+1)
		}
		for n, p := range s.Paragraphs {
			if w.supports(p.Title) {
				s.Evidence = append(s.Evidence, n)
			}
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("there are no questions")
	}
	return out, nil
}

func (w wire) supports(title string) bool {
	for _, f := range w.Facts {
		var named string
		if len(f) > 0 && json.Unmarshal(f[0], &named) == nil && named == title && title != "" {
			return true
		}
	}
	return false
}

// paragraphs are pairs of a title and sentences, or one text that is cut before
// each "Document 1:", else at blank lines.
func paragraphs(raw json.RawMessage) (out []Paragraph, err error) {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		for _, part := range executor.Paragraphs(text) {
			out = append(out, Paragraph{Text: part})
		}
		return out, nil
	}
	var pairs [][]json.RawMessage
	if err := json.Unmarshal(raw, &pairs); err != nil {
		return nil, err
	}
	for i, pair := range pairs {
		var p Paragraph
		var sentences []string
		if len(pair) != 2 || json.Unmarshal(pair[0], &p.Title) != nil || json.Unmarshal(pair[1], &sentences) != nil {
			return nil, fmt.Errorf("paragraph %d is no title with sentences", i+1)
		}
		p.Text = strings.TrimSpace(strings.Join(sentences, ""))
		out = append(out, p)
	}
	return out, nil
}

var (
	tagged   = regexp.MustCompile(`(?is)<answer>(.*?)</answer>`)
	lineSaid = regexp.MustCompile(`(?im)^\W*(?:short )?answer:\W*(.+)$`)
	sentence = regexp.MustCompile(`(?i)\bthe answer is:?\s+(.+)`)
)

// Answer is what a reply says: in answer tags, else on a line "Answer:", else
// after "the answer is", else all of it.
func Answer(reply string) string {
	for _, form := range []*regexp.Regexp{tagged, lineSaid, sentence} {
		if found := form.FindStringSubmatch(reply); found != nil {
			return strings.TrimSpace(found[1])
		}
	}
	return strings.TrimSpace(reply)
}

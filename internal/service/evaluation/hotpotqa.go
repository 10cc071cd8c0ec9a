package evaluation

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

// HotpotQASample is one question with its paragraphs.
type HotpotQASample struct {
	ID         string
	Question   string
	Answers    []string // correct answers; any is sufficient
	Paragraphs []Paragraph
	Evidence   []int // indexes of the paragraphs with the answer, ascending; empty if the file does not contain them
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

// OpenHotpotQA reads samples from the file at path.
func OpenHotpotQA(path string) ([]HotpotQASample, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fault.Wrap(err, fault.InvalidArgument, "cannot open the data file",
			"use a HotpotQA file, for example hotpot_dev_distractor_v1.json")
	}
	defer file.Close()
	out, err := ReadHotpotQA(file)
	if err != nil {
		return nil, fault.Wrap(err, fault.InvalidArgument, path+" is not a HotpotQA file",
			"use a JSON array of objects with `question` and `context`")
	}
	return out, nil
}

// ReadHotpotQA reads HotpotQA files (hotpotqa.github.io). A sample is a question and
// paragraphs, few of which are relevant. A file may contain several correct answers per question,
// and the paragraphs as one text.
func ReadHotpotQA(from io.Reader) (out []HotpotQASample, err error) {
	var all []wire
	if err := json.NewDecoder(from).Decode(&all); err != nil {
		return nil, fmt.Errorf("read the JSON: %w", err)
	}
	for i, w := range all {
		s := HotpotQASample{ID: w.ID, Question: w.Question, Answers: w.Answers}
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
			return nil, fmt.Errorf("question %d: parse the paragraphs: %w", i+1, err)
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
		return nil, fmt.Errorf("file has no questions")
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

// paragraphs parses pairs of a title and sentences. If the context is a text, it is split before
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
			return nil, fmt.Errorf("paragraph %d is not a pair of a title and sentences", i+1)
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

// HotpotQAAnswer extracts the answer of a reply: the text in answer tags, else of a line "Answer:", else
// after "the answer is", else the whole reply.
func HotpotQAAnswer(reply string) string {
	for _, form := range []*regexp.Regexp{tagged, lineSaid, sentence} {
		if found := form.FindStringSubmatch(reply); found != nil {
			return strings.TrimSpace(found[1])
		}
	}
	return strings.TrimSpace(reply)
}

package offlinemodel

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"cairn/internal/domain/llm"
	"cairn/internal/domain/prompt"
)

var (
	latinWord = regexp.MustCompile(`[A-Za-z]{3,}`)
	hanRun    = regexp.MustCompile(`\p{Han}{4,}`)
)

// questionOf makes a question of the words of a line; empty if the line has too few.
func questionOf(line string) string {
	if runs := hanRun.FindAllString(line, 4); len(runs) > 0 {
		return "关于" + strings.Join(runs, "") + "的是什么？"
	}
	words := latinWord.FindAllString(line, 8)
	if len(words) < 4 {
		return ""
	}
	return "What is " + strings.ToLower(strings.Join(words, " ")) + "?"
}

// The lines of all templates are instructions of the request, as they are or rendered.
func TestNoLineOfAPromptIsAnAnswer(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../domain/prompt/templates/*.md")
	if err != nil || len(files) < 50 {
		t.Fatalf("%d templates, %v", len(files), err)
	}
	asked := 0
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lang := strings.Split(filepath.Base(file), ".")[1]
		system, err := prompt.Session(lang, "chat", prompt.SessionContext{})
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			question := questionOf(line)
			if question == "" {
				continue
			}
			asked++
			_, final := agent(t, llm.Request{System: system + "\n\n" + string(raw), Messages: llm.User(question)},
				func(made) string { return `{"ok":true,"results":[],"hint":` + fmt.Sprintf("%q", line) + `}` })
			if final != phrases["unknown"][0] && final != phrases["unknown"][1] {
				t.Fatalf("%s: %q is answered %q", filepath.Base(file), question, final)
			}
		}
	}
	if asked < 400 {
		t.Errorf("only %d questions", asked)
	}
}

// A note asks for the end of a turn. It has the role of a user, at any place.
func TestNoNoteOfTheLoopIsAnAnswer(t *testing.T) {
	t.Parallel()
	for _, lang := range []string{"en", "zh"} {
		for _, note := range []string{prompt.LastCall(lang, ""), prompt.LastCall(lang, "voice"),
			prompt.Checkpoint(lang, 3)} {
			messages := append(llm.User(questionOf(note)), llm.Message{Role: llm.RoleUser, Content: note})
			calls, final := agent(t, llm.Request{Messages: messages}, func(made) string {
				return `{"ok":true,"results":[]}`
			})
			if final != phrases["unknown"][0] && final != phrases["unknown"][1] {
				t.Errorf("%q is answered %q after %v", questionOf(note), final, calls)
			}
		}
	}
}

func TestTheTextOfAnErrorIsNoAnswer(t *testing.T) {
	t.Parallel()
	const failure = `{"ok":false,"error":{"code":"invalid_argument","message":"the query is empty",` +
		`"hint":"use a few search words, for example favorite food"}}`
	_, final := agent(t, llm.Request{Messages: llm.User("What is my favorite food?")}, func(made) string {
		return failure
	})
	if final != phrases["unknown"][0] {
		t.Errorf("answered %q", final)
	}
}

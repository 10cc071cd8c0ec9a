package library

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/internal/domain/fault"
)

// maxCommand is the maximum length of a command line in bytes.
const maxCommand = 8 << 10

// meaning lists characters with a meaning in a shell. There is no shell here, so they are rejected:
// the command would not do what its author expects.
const meaning = ";&|<>()$`*?[]{}~#!"

// ParseCommand splits a command line into words as a shell does, with quotes and backslashes only. Other
// shell syntax returns CommandRefused, and an open quote returns InvalidArgument.
func ParseCommand(command string) (words []string, err error) {
	if len(command) > maxCommand || !utf8.ValidString(command) {
		return nil, fault.New(fault.InvalidArgument,
			fmt.Sprintf("invalid command: %d bytes, or not UTF-8 text", len(command)),
			fmt.Sprintf("use at most %d bytes of text, and store long input in a file of the skill", maxCommand))
	}
	p := parser{}
	for _, r := range command {
		if err := p.take(r); err != nil {
			return nil, err
		}
	}
	if p.quote != 0 || p.escaped {
		return nil, fault.New(fault.InvalidArgument, "unclosed quote in the command",
			"close the quote, or send the words as parameters")
	}
	p.end()
	return p.words, nil
}

type parser struct {
	words   []string
	word    strings.Builder
	begun   bool // the current word has started; it may be empty
	quote   rune // open quote, 0 without one
	escaped bool // a backslash precedes
}

func (p *parser) take(r rune) error {
	switch {
	case unicode.IsControl(r) && r != '\t':
		return refused(r, "is a control character")
	case p.escaped:
		if p.quote == '"' && r != '"' && r != '\\' && r != '$' && r != '`' {
			p.add('\\')
		}
		p.add(r)
		p.escaped = false
	case r == p.quote:
		p.quote = 0
	case p.quote == '\'':
		p.add(r)
	case r == '\\':
		p.begun, p.escaped = true, true
	case p.quote == '"':
		if r == '$' || r == '`' {
			return refused(r, "is a shell expansion")
		}
		p.add(r)
	case r == '"' || r == '\'':
		p.begun, p.quote = true, r
	case r == ' ' || r == '\t':
		p.end()
	case strings.ContainsRune(meaning, r):
		return refused(r, "is shell syntax")
	default:
		p.add(r)
	}
	return nil
}

func (p *parser) add(r rune) { p.begun = true; p.word.WriteRune(r) }

func (p *parser) end() {
	if p.begun {
		p.words = append(p.words, p.word.String())
	}
	p.word.Reset()
	p.begun = false
}

func refused(r rune, why string) error {
	return fault.New(fault.CommandRefused, fmt.Sprintf("character %q %s, and commands run without a shell", r, why),
		"run one program; quote the character to use it literally, or use a script of "+
			"the skill")
}

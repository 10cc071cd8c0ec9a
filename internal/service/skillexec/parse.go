package skillexec

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"cairn/internal/domain/fault"
)

// maxCommand bounds a command line, in bytes.
const maxCommand = 8 << 10

// meaning is what a shell would make of a character, by which commands are
// chained, sent elsewhere or replaced by others. There is no shell here, so it is
// refused: it would not do what whoever wrote it expects.
const meaning = ";&|<>()$`*?[]{}~#!"

// Parse takes a command line apart into words as a shell would, with quotes and
// backslashes and nothing else. What a shell would do more with is
// CommandRefused, and a quote that does not end InvalidArgument.
func Parse(command string) (words []string, err error) {
	if len(command) > maxCommand || !utf8.ValidString(command) {
		return nil, fault.New(fault.InvalidArgument,
			fmt.Sprintf("the command has %d bytes, or is no text", len(command)),
			fmt.Sprintf("use at most %d, and put long input into a file of the skill", maxCommand))
	}
	p := parser{}
	for _, r := range command {
		if err := p.take(r); err != nil {
			return nil, err
		}
	}
	if p.quote != 0 || p.escaped {
		return nil, fault.New(fault.InvalidArgument, "the command ends inside of a quote",
			"close it, or write the words as parameters")
	}
	p.end()
	return p.words, nil
}

type parser struct {
	words   []string
	word    strings.Builder
	begun   bool // the word, which may be empty
	quote   rune // that is open
	escaped bool // by the backslash before
}

func (p *parser) take(r rune) error {
	switch {
	case unicode.IsControl(r) && r != '\t':
		return refused(r, "begins another command or cannot be seen")
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
			return refused(r, "is replaced by a shell")
		}
		p.add(r)
	case r == '"' || r == '\'':
		p.begun, p.quote = true, r
	case r == ' ' || r == '\t':
		p.end()
	case strings.ContainsRune(meaning, r):
		return refused(r, "has a meaning for a shell")
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
	return fault.New(fault.CommandRefused, fmt.Sprintf("the character %q %s, and there is none", r, why),
		"run one program; quote the character when it is meant as it stands, or put what is more into a script of "+
			"the skill")
}

package guard

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// detector is one entry of patterns/secrets.yaml.
type detector struct {
	kind    string
	private bool   // personal data rather than a secret
	option  string // emails or phones; empty means always
	check   func(name, value string) bool
	pattern pattern
}

// keyReach, in bytes, is the context that is searched around a needle. A key can extend to the next
// white space.
const keyReach = 300

// checks verify the captured value of a pattern. name is group 1 of a pattern with two groups.
var checks = map[string]func(name, value string) bool{
	"":             func(_, value string) bool { return !strings.Contains(strings.ToLower(value), "xxxxxx") },
	"any":          func(_, value string) bool { return !standIn(value) },
	"random":       random,
	"token":        bearer,
	"password":     func(_, value string) bool { return likePassword(value) },
	"url_password": func(_, value string) bool { return !standIn(value) && !usual[strings.ToLower(value)] },
	"person": func(_, value string) bool {
		return !genericAccounts[strings.ToLower(strings.TrimRight(value, "."))]
	},
	"mailbox": func(_, value string) bool {
		return !strings.HasPrefix(value, "git@") && !strings.HasPrefix(value, "noreply@")
	},
}

// bearer is less strict than random, because the word before the value identifies it.
func bearer(_, value string) bool {
	return !standIn(value) && !words.MatchString(strings.TrimRight(value, "=")) && mixed(value)
}

// genericAccounts are account names that do not identify a person.
var genericAccounts = map[string]bool{"user": true, "username": true, "users": true, "you": true, "yourname": true,
	"your_name": true, "your-username": true, "me": true,
	"runner": true, "node": true, "app": true, "shared": true, "public": true, "default": true, "guest": true,
	"ubuntu": true, "ec2-user": true, "vagrant": true,
	"root": true, "admin": true, "administrator": true, "vscode": true, "coder": true, "jovyan": true,
	"linuxbrew": true, "git": true, "name": true, "home": true, "xxx": true}

// detectors are in the order of the file, most specific first.
var detectors = sync.OnceValue(func() []detector {
	var file struct {
		Detectors []struct {
			Kind    string   `yaml:"kind"`
			Private bool     `yaml:"private"`
			Option  string   `yaml:"option"`
			Check   string   `yaml:"check"`
			Reach   int      `yaml:"reach"`
			Block   bool     `yaml:"block"`
			Needles []string `yaml:"needles"`
			Pattern string   `yaml:"pattern"`
		} `yaml:"detectors"`
	}
	readPatterns("patterns/secrets.yaml", &file)
	all := make([]detector, len(file.Detectors))
	for i, d := range file.Detectors {
		check, known := checks[d.Check]
		if !known || len(d.Needles) == 0 {
			panic("guard: detector " + d.Kind + " is incomplete")
		}
		reach := cmp.Or(d.Reach, keyReach)
		if d.Block {
			reach = blockReach
		}
		all[i] = detector{kind: d.Kind, private: d.Private, option: d.Option, check: check,
			pattern: pattern{needles: d.Needles, reach: reach, toSpace: true, expression: borderless(d.Pattern)}}
	}
	return all
})

// borderless compiles a pattern so that a leading \b also matches after the two characters
// , \r or \t of a JSON string, which are adjacent to the word.
func borderless(text string) *regexp.Regexp {
	flags := ""
	if rest, fold := strings.CutPrefix(text, "(?i)"); fold {
		flags, text = "(?i)", rest
	}
	if rest, bordered := strings.CutPrefix(text, `\b`); bordered {
		if regexp.MustCompile(rest).NumSubexp() == 0 {
			rest = "(" + rest + ")"
		}
		text = `(?:\b|\\[nrt])` + rest
	}
	return regexp.MustCompile(flags + text)
}

// blockReach covers a PEM block. A key of 16,384 bits has about 12,500 characters.
const blockReach = 16 << 10

// exposure is a position with a secret or private value.
type exposure struct {
	window
	kind    string
	private bool
}

// placeholder matches the placeholders of a Redactor.
var placeholder = regexp.MustCompile(`\{\{(?:secret|personal):[a-z][a-z0-9_]*_\d+\}\}`)

// expose returns the exposures in order, without overlaps and never inside a placeholder.
func expose(text string, o Options) []exposure {
	lower := lowerASCII(text)
	var taken []exposure // includes placeholders, without a kind
	if strings.Contains(text, "{{") {
		for _, m := range placeholder.FindAllStringIndex(text, -1) {
			taken = append(taken, exposure{window: window{m[0], m[1]}})
		}
	}
	var found []exposure
	for _, d := range detectors() {
		if d.option == "emails" && !o.Emails {
			continue
		}
		for _, m := range d.pattern.all(text, lower) {
			name, start, end := captured(text, m)
			if d.kind != "home_user" { // backslashes in home directories are part of the path
				start += escapeTail(text, start)
			}
			if end > start && d.check(name, text[start:end]) {
				found = append(found, exposure{window{start, end}, d.kind, d.private})
			}
		}
		taken, found = settle(taken, found), found[:0]
	}
	for _, w := range cards(text) {
		found = append(found, exposure{w, "card", false})
	}
	for _, w := range seedPhrases(text) {
		found = append(found, exposure{w, "seed_phrase", false})
	}
	taken, found = settle(taken, found), found[:0]
	if o.Phones {
		for _, w := range phones(text) {
			found = append(found, exposure{w, "phone", true})
		}
		taken = settle(taken, found)
	}
	return slices.DeleteFunc(taken, func(e exposure) bool { return e.kind == "" })
}

// captured returns the last group of a match, or the whole match. name is the name that the
// previous group ends.
func captured(text string, m []int) (name string, start, end int) {
	switch {
	case len(m) >= 6 && m[4] >= 0:
		from := m[2]
		for from > max(0, m[2]-maxSetting) &&
			(letter(text[from-1]) || digit(text[from-1]) || strings.IndexByte("_.-", text[from-1]) >= 0) {
			from--
		}
		return text[from:m[3]], m[4], m[5]
	case len(m) >= 4 && m[2] >= 0:
		return "", m[2], m[3]
	}
	return "", m[0], m[1]
}

// escapeTail returns how many bytes from i belong to a JSON escape that starts before i. For
// example, the n of
// is not part of a mail address.
func escapeTail(text string, i int) int {
	switch {
	case i == len(text) || !slashed(text, i):
		return 0
	case text[i] == 'u':
		return min(5, len(text)-i)
	case strings.IndexByte("bfnrt", text[i]) >= 0:
		return 1
	}
	return 0
}

// slashed reports whether the number of backslashes before i is odd.
func slashed(text string, i int) bool {
	n := 0
	for n < i && text[i-1-n] == '\\' && n < maxSetting {
		n++
	}
	return n%2 == 1
}

// maxSetting, in bytes, is the maximum length of a setting's name.
const maxSetting = 64

// settle adds the exposures of found that do not overlap taken, which is ordered.
func settle(taken, found []exposure) []exposure {
	if len(found) == 0 {
		return taken
	}
	all := slices.Clone(taken)
	for _, e := range found {
		i, _ := slices.BinarySearchFunc(taken, e.start, func(t exposure, start int) int {
			return cmp.Compare(t.end, start+1)
		})
		if i == len(taken) || taken[i].start >= e.end {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, func(a, b exposure) int { return cmp.Compare(a.start, b.start) })
	return all
}

// Secrets finds keys, passwords and card numbers with the detectors of the Redactor. A redacted
// text has none. Every finding is Dangerous and leads to fault.SecretDetected.
func Secrets(text string) []Finding {
	var findings []Finding
	line, at := 1, 0
	for _, e := range expose(text, Options{}) {
		line += strings.Count(text[at:e.start], "\n")
		at = e.start
		if !e.private {
			findings = append(findings, Finding{Family: Secret, Severity: Dangerous, Line: line,
				ID: "secret." + e.kind})
		}
	}
	return sortFindings(findings)
}

package guard

import (
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

//go:embed patterns
var patternFiles embed.FS

// gap replaces a blank in a rule: white space, quotes and Markdown marks, so that "**ignore** all"
// matches as two words.
const gap = "(?:[\\s*_\"'`>|#,-]+)"

// defaultReach, in bytes, covers a sentence.
const defaultReach = 200

// rule is one entry of patterns/rules.yaml or patterns/scripts.yaml.
type rule struct {
	id       string
	family   Family
	severity Severity
	scope    Scope
	mention  bool // quoting it is only a caution
	pattern  pattern
	unless   *regexp.Regexp // a match that this also matches is no finding
	before   *regexp.Regexp // a match directly after this text is no finding
}

// ruleFile is the format of the files.
type ruleFile struct {
	Words map[string]string `yaml:"words"`
	Rules []struct {
		ID       string   `yaml:"id"`
		Family   Family   `yaml:"family"`
		Scope    string   `yaml:"scope"`
		Severity Severity `yaml:"severity"`
		Mention  bool     `yaml:"mention"`
		Needles  []string `yaml:"needles"`
		Reach    int      `yaml:"reach"`
		Pattern  string   `yaml:"pattern"`
		Unless   string   `yaml:"unless"`
		Before   string   `yaml:"before"`
	} `yaml:"rules"`
}

var (
	textRules   = sync.OnceValue(func() []rule { return loadRules("patterns/rules.yaml") })
	scriptRules = sync.OnceValue(func() []rule { return loadRules("patterns/scripts.yaml") })
	// embeddedRules apply to code in texts too. programRules apply to programs only, because they
	// are cautions.
	embeddedRules = sync.OnceValue(func() []rule { return ofSeverity(scriptRules(), Dangerous) })
	programRules  = sync.OnceValue(func() []rule { return ofSeverity(scriptRules(), Caution) })
)

func ofSeverity(rules []rule, severity Severity) []rule {
	return slices.DeleteFunc(slices.Clone(rules), func(r rule) bool { return r.severity != severity })
}

// loadRules panics on an invalid file, because the files are embedded.
func loadRules(name string) []rule {
	var file ruleFile
	readPatterns(name, &file)
	var words []string
	for word, meaning := range file.Words {
		words = append(words, "{"+word+"}", meaning)
	}
	expand := strings.NewReplacer(words...)
	compile := func(text string) *regexp.Regexp {
		if text == "" {
			return nil
		}
		text = expand.Replace(expand.Replace(text)) // words can use words
		return regexp.MustCompile(strings.ReplaceAll(text, " ", gap))
	}
	rules := make([]rule, len(file.Rules))
	for i, r := range file.Rules {
		scope, known := scopes[r.Scope]
		if !known || r.ID == "" || r.Family == "" || r.Severity != Caution && r.Severity != Dangerous ||
			len(r.Needles) == 0 {
			panic(fmt.Sprintf("guard: rule %d %q of %s is incomplete", i, r.ID, name))
		}
		if r.Reach == 0 {
			r.Reach = defaultReach
		}
		rules[i] = rule{id: r.ID, family: r.Family, severity: r.Severity, scope: scope, mention: r.Mention,
			pattern: pattern{needles: r.Needles, reach: r.Reach, expression: compile(r.Pattern)},
			unless:  compile(r.Unless), before: compile(r.Before)}
	}
	return rules
}

// readPatterns decodes an embedded file.
func readPatterns(name string, into any) {
	data, err := patternFiles.ReadFile(name)
	if err == nil {
		err = yaml.Unmarshal(data, into)
	}
	if err != nil {
		panic(fmt.Sprintf("guard: %s: %v", name, err))
	}
}

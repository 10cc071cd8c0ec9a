package guard

import (
	"cmp"
	"fmt"
	"slices"
)

// Severity is the severity of a finding, or of a text with findings.
type Severity string

const (
	Safe      Severity = "safe"      // only for a verdict: no findings
	Caution   Severity = "caution"   // plausible in honest text: warn or stage
	Dangerous Severity = "dangerous" // not needed in honest text: refuse
)

// Family is the kind of harm that a rule detects.
type Family string

const (
	Override    Family = "instruction_override" // "ignore your previous instructions"
	RoleHijack  Family = "role_hijack"          // a new identity, or a forged role header
	HideFrom    Family = "hide_from_user"       // acting without the user's knowledge
	PromptLeak  Family = "prompt_leak"          // asking for the system prompt
	Hidden      Family = "hidden_text"          // orders in comments or invisible elements
	Invisible   Family = "invisible_characters" // zero-width, bidi and tag characters, broken UTF-8
	Exfiltrate  Family = "exfiltration"         // data sent out, code fetched and run
	Credentials Family = "credential_read"      // reading key files
	Persistence Family = "persistence"          // start-up files, crontab, authorized_keys
	Destructive Family = "destructive_shell"    // wiping disks, homes, databases
	AgentConfig Family = "agent_config"         // changing the agent's own rules or permissions
	Payment     Family = "payment"              // paying or refunding without a check
	SeedPhrase  Family = "seed_phrase"          // asking for the words of a wallet
	C2          Family = "command_and_control"  // reverse shells, fetched orders
	UnknownURL  Family = "unknown_url"          // in scripts: a host that is not widely known
	Secret      Family = "secret"               // a key, password or card number
	Personal    Family = "personal"             // a value of one case or person
)

// Finding identifies a rule and the line that it matched. It never holds the text.
type Finding struct {
	Family   Family   `json:"family"`
	Severity Severity `json:"severity"`
	Line     int      `json:"line"`            // from 1
	ID       string   `json:"id"`              // the rule, such as override.previous
	Where    string   `json:"where,omitempty"` // the named text or file, set by CheckSkill
}

// RiskLine describes a finding in one line, without the text.
func (f Finding) RiskLine() string {
	return fmt.Sprintf("%s: %s in %s, line %d (%s)", f.Severity, f.Family, f.Where, f.Line, f.ID)
}

// Verdict returns the worst severity of findings, and Safe for none.
func Verdict(findings []Finding) Severity {
	worst := Safe
	for _, f := range findings {
		if f.Severity == Dangerous {
			return Dangerous
		}
		worst = Caution
	}
	return worst
}

// sortFindings sorts findings by position and rule, and removes repetitions.
func sortFindings(findings []Finding) []Finding {
	slices.SortFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Where, b.Where), cmp.Compare(a.Line, b.Line), cmp.Compare(a.ID, b.ID),
			cmp.Compare(a.Severity, b.Severity))
	})
	return slices.Compact(findings)
}

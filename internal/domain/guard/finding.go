package guard

import (
	"cmp"
	"slices"
)

// Severity is how much a finding, or a text with findings, is to be feared.
type Severity string

const (
	Safe      Severity = "safe"      // of a verdict only: nothing was found
	Caution   Severity = "caution"   // plausible in honest text: warn or stage
	Dangerous Severity = "dangerous" // no honest text needs it: refuse
)

// Family is the kind of harm that a rule looks for.
type Family string

const (
	Override    Family = "instruction_override" // "ignore your previous instructions"
	RoleHijack  Family = "role_hijack"          // a new identity, or a forged role header
	HideFrom    Family = "hide_from_user"       // acting behind the user's back
	PromptLeak  Family = "prompt_leak"          // asking for the system prompt
	Hidden      Family = "hidden_text"          // orders in comments or unseen elements
	Invisible   Family = "invisible_characters" // zero-width, bidi and tag characters, broken UTF-8
	Exfiltrate  Family = "exfiltration"         // data sent out, code fetched and run
	Credentials Family = "credential_read"      // reading key files
	Persistence Family = "persistence"          // start-up files, crontab, authorized_keys
	Destructive Family = "destructive_shell"    // wiping disks, homes, databases
	AgentConfig Family = "agent_config"         // changing the agent's own rules or permissions
	C2          Family = "command_and_control"  // reverse shells, fetched orders
	UnknownURL  Family = "unknown_url"          // of scripts: a host that is not widely known
	Secret      Family = "secret"               // a key, password or card number
	Personal    Family = "personal"             // a value of one case or person
)

// Finding says which rule met which line. It never holds the text itself.
type Finding struct {
	Family   Family   `json:"family"`
	Severity Severity `json:"severity"`
	Line     int      `json:"line"`            // from 1
	ID       string   `json:"id"`              // the rule, such as override.previous
	Where    string   `json:"where,omitempty"` // the named text or file, filled by CheckSkill
}

// Verdict is the worst severity among findings, Safe when there are none.
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

// settled sorts findings by place and rule and drops repetitions.
func settled(findings []Finding) []Finding {
	slices.SortFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Where, b.Where), cmp.Compare(a.Line, b.Line), cmp.Compare(a.ID, b.ID),
			cmp.Compare(a.Severity, b.Severity))
	})
	return slices.Compact(findings)
}

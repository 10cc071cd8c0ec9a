package store

import (
	"fmt"
	"math"

	"cairn/internal/domain/modelcall"
	"cairn/internal/domain/settings"
)

// Limits of a day without room for a call, as cairn.reserve_call returns them.
const (
	overTokens     = "tokens"
	overCost       = "cost"
	overDeployment = "deployment"
)

// dayLimits are the limits of a UTC day that apply to a call; nil is none.
type dayLimits struct {
	settings   settings.Settings
	tokens     *int64
	micros     *int64 // micro-dollars of the workspace
	deployment *int64 // micro-dollars of all workspaces
}

// limitsOf returns the limits of the workspace with the given settings, and of the deployment.
func limitsOf(limit settings.Spend, chosen []byte) (l dayLimits, err error) {
	if l.settings, err = settings.Read(chosen); err != nil {
		return l, err
	}
	if l.settings.TokensPerDay > 0 {
		l.tokens = &l.settings.TokensPerDay
	}
	if spend := int64(l.settings.MicrosPerDay); l.settings.MicrosPerDay != settings.Unlimited {
		l.micros = &spend
	}
	if most := int64(limit); limit != settings.Unlimited && limit != 0 {
		l.deployment = &most
	}
	return l, nil
}

// of returns the limits that apply to a call with this additional usage. Calls that cost nothing, or whose
// price is unknown, are refused by the limit of tokens only.
func (l dayLimits) of(tokens, micros int64) dayLimits {
	if tokens <= 0 {
		l.tokens = nil
	}
	if micros <= 0 {
		l.micros, l.deployment = nil, nil
	}
	return l
}

func (l dayLimits) any() bool { return l.tokens != nil || l.micros != nil || l.deployment != nil }

// without returns a limit of the workspace that has no room for a call, given what its day has used.
func (l dayLimits) without(usedTokens, usedMicros, tokens, micros int64) string {
	switch {
	case l.tokens != nil && tokens > *l.tokens-usedTokens:
		return overTokens
	case l.micros != nil && micros > *l.micros-usedMicros:
		return overCost
	}
	return ""
}

// refusal is an Admission with a reason, which names the limit and how to raise it: runs store only
// the reason. Tenants do not see what others have spent.
func (l dayLimits) refusal(over string, usedTokens, usedMicros, tokens, micros int64) modelcall.Admission {
	reason := ""
	switch over {
	case overTokens:
		reason = fmt.Sprintf("the workspace has used or reserved %d of %s today, and this call "+
			"may need %d; `cairn settings set tokens_per_day=%d` raises the limit",
			usedTokens, l.settings.TokenLimit(), tokens,
			max(2*min(l.settings.TokensPerDay, math.MaxInt64/4), usedTokens+tokens))
	case overCost:
		reason = fmt.Sprintf("the workspace has spent or reserved %s of %s today, and this call may "+
			"cost %s; `cairn settings set micros_per_day=%s` raises the limit",
			settings.Dollars(usedMicros), l.settings.CostLimit(), settings.Dollars(micros),
			l.settings.MicrosPerDay.Above(usedMicros+micros))
	case overDeployment:
		reason = fmt.Sprintf("%s is reached; a higher CAIRN_MICROS_PER_DAY of its workers raises it",
			settings.DeploymentLimit)
	}
	return modelcall.Admission{Verdict: modelcall.OverBudget, Reason: reason}
}

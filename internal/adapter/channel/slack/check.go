package slack

import (
	"context"
	"slices"
	"strings"

	"cairn/internal/domain/fault"
)

// scopes are the rights that the bot needs.
var scopes = []string{"channels:history", "chat:write", "files:read", "groups:history", "im:history", "users:read"}

// Check asks Slack whether it accepts the tokens, and which rights the bot has.
func (a *Adapter) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	me, err := a.client.AuthTestContext(ctx)
	if err != nil {
		return a.wrong(err, "the bot_token",
			"copy the Bot User OAuth Token of the page OAuth & Permissions, and check that this machine reaches "+a.API)
	}
	if missing := missingScopes(me.Header.Get("X-OAuth-Scopes")); len(missing) > 0 {
		return fault.New(fault.Misconfigured,
			"the bot of account "+a.Account+" lacks the scopes "+strings.Join(missing, ", "),
			"add them to Bot Token Scopes on the page OAuth & Permissions of the app, and install the app again")
	}
	if a.AppToken == "" {
		return nil
	}
	if _, _, err := a.client.StartSocketModeContext(ctx); err != nil {
		return a.wrong(err, "the app_token", "turn on Socket Mode, and make an app-level token with the scope "+
			"connections:write on the page Basic Information of the app")
	}
	return nil
}

func (a *Adapter) wrong(err error, what, hint string) error {
	return fault.Wrap(a.redact(err), fault.Misconfigured, "Slack does not accept "+what+" of account "+a.Account,
		hint)
}

// missingScopes returns the scopes that a list lacks. Slack sends a list with each response; without one, nothing is
// known to be missing.
func missingScopes(list string) (missing []string) {
	if list == "" {
		return nil
	}
	given := strings.Split(strings.ReplaceAll(list, " ", ""), ",")
	for _, s := range scopes {
		if !slices.Contains(given, s) {
			missing = append(missing, s)
		}
	}
	return missing
}

package settings

import (
	"encoding/json"
	"fmt"
	"strconv"

	"cairn/internal/domain/fault"
)

// Spend is a limit of cost in micro-dollars: 0 to MaxSpend, or Unlimited. Its text is the number, or
// "unlimited". With 0, no call that costs anything is made.
type Spend int64

// Limits of cost in a UTC day.
const (
	Unlimited    Spend = -1
	DefaultSpend Spend = 5_000_000         // 5 $
	MaxSpend     Spend = 1_000_000_000_000 // 1,000,000 $
)

const unlimited = "unlimited"

// Allows reports whether the limit permits a total cost in micro-dollars.
func (s Spend) Allows(micros int64) bool { return s == Unlimited || micros <= int64(s) }

// Above returns a higher limit that permits a total cost in micro-dollars, for hints.
func (s Spend) Above(micros int64) Spend {
	higher := max(2*s, Spend(micros), 1_000_000)
	if s == Unlimited || higher > MaxSpend {
		return Unlimited
	}
	return higher
}

// String returns the number of micro-dollars, or "unlimited".
func (s Spend) String() string {
	if s == Unlimited {
		return unlimited
	}
	return strconv.FormatInt(int64(s), 10)
}

// MarshalJSON encodes a number, or the string "unlimited".
func (s Spend) MarshalJSON() ([]byte, error) {
	if s == Unlimited {
		return json.Marshal(unlimited)
	}
	return json.Marshal(int64(s))
}

// UnmarshalJSON decodes a number, or the string "unlimited". A number as text is refused.
func (s *Spend) UnmarshalJSON(raw []byte) error {
	if string(raw) == `"`+unlimited+`"` {
		*s = Unlimited
		return nil
	}
	return s.UnmarshalText(raw)
}

// UnmarshalText decodes a number, or "unlimited".
func (s *Spend) UnmarshalText(text []byte) error {
	if string(text) == unlimited {
		*s = Unlimited
		return nil
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || n < 0 || Spend(n) > MaxSpend {
		return fault.New(fault.InvalidArgument, fmt.Sprintf("invalid limit of cost %.40s", text),
			fmt.Sprintf("use 0 to %d micro-dollars (1000000 is 1 $), or %s", int64(MaxSpend), unlimited))
	}
	*s = Spend(n)
	return nil
}

// Dollars formats micro-dollars for people, such as "0.0125 $".
func Dollars(micros int64) string {
	return strconv.FormatFloat(float64(micros)/1e6, 'f', -1, 64) + " $"
}

// DeploymentLimit is how refusals of model calls name the limit of cost of all workspaces.
const DeploymentLimit = "the daily limit of cost of the deployment"

// TokenLimit returns how refusals of model calls name the limit of tokens.
func (s Settings) TokenLimit() string {
	return fmt.Sprintf("the %d tokens of tokens_per_day", s.TokensPerDay)
}

// CostLimit returns how refusals of model calls name the limit of cost.
func (s Settings) CostLimit() string {
	return fmt.Sprintf("the %s of micros_per_day", Dollars(int64(s.MicrosPerDay)))
}

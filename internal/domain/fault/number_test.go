package fault

import (
	"math"
	"testing"
)

func TestCheckNumberRefusesWhatIsNotFinite(t *testing.T) {
	t.Parallel()
	for _, value := range []float64{-1, 0, 0.5, MaxNumber} {
		if err := CheckNumber("reward", value, -1, MaxNumber); err != nil {
			t.Errorf("%v: %v", value, err)
		}
	}
	for _, value := range []float64{-1.001, MaxNumber + 1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64} {
		f := From(CheckNumber("reward", value, -1, MaxNumber))
		if f == nil || f.Code != InvalidArgument || f.Hint != "use a number from -1 to 1000000" {
			t.Errorf("%v: %+v", value, f)
		}
	}
}

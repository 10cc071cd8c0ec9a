package evaluation

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"html/template"

	"cairn/internal/domain/learning"
	"cairn/internal/domain/llm"
)

//go:embed report.html
var reportFile string

var report = template.Must(template.New("report").Funcs(template.FuncMap{
	"share":  func(v float64) string { return fmt.Sprintf("%.3f", v) },
	"maybe":  Maybe,
	"versus": Versus.String,
	"interval": func(i *Interval, format string) string {
		if i == nil {
			return "–"
		}
		return fmt.Sprintf(format+" ["+format+", "+format+"]", i.Mean, i.Low, i.High)
	},
	"total":   func(r Row) learning.EvaluationUsage { return r.Build.Plus(r.Usage) },
	"seconds": func(r Row) float64 { return r.BuildSeconds + r.Seconds },
	"cost":    learning.EvaluationUsage.Cost,
	"curve":   func(l Learned) template.HTML { return template.HTML(l.Curve()) }, //nolint:gosec // drawn from numbers
	"offline": func(s Spec) bool { return s.Model.Name == llm.OfflineModel },
	"json": func(v any) (string, error) {
		raw, err := json.MarshalIndent(v, "", "  ")
		return string(raw), err
	},
}).Parse(reportFile))

// HTML renders a result as one page without scripts.
func (r Result) HTML() ([]byte, error) {
	var out bytes.Buffer
	if err := report.Execute(&out, r); err != nil {
		return nil, fmt.Errorf("render the report: %w", err)
	}
	return out.Bytes(), nil
}

// Curve draws the mean reward of each iteration as SVG.
func (l Learned) Curve() []byte {
	points := make([]Point, len(l.Rewards))
	for i, v := range l.Rewards {
		points[i] = Point{X: float64(i + 1), Y: v}
	}
	return SVG(Chart{Title: "reward", Foot: "iteration", High: 1, Lines: []Line{{Points: points}}})
}

// String formats the difference of F1 with its interval.
func (v Versus) String() string {
	if v.F1 == nil {
		return fmt.Sprintf("%+.3f", v.F1Difference)
	}
	return fmt.Sprintf("%+.3f [%+.3f, %+.3f]", v.F1.Mean, v.F1.Low, v.F1.High)
}

// Maybe formats a value, a dash if there is none.
func Maybe(v *float64, format string) string {
	if v == nil {
		return "–"
	}
	return fmt.Sprintf(format, *v)
}

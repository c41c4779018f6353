// Dates of photos as people read them: days, months and years.

const format = (options) => new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", ...options });
const MONTHS = format({ year: "numeric", month: "long" });
const DAYS = format({ year: "numeric", month: "long", day: "numeric", weekday: "long" });

/** A year, month or day as people read it: "2019-08" is "August 2019". */
export function periodName(period) {
  const [, year, month, day] = /^(\d{4})(?:-(\d\d))?(?:-(\d\d))?/.exec(period) ?? [];
  if (!month) return period;
  const date = new Date(`${year}-${month}-${day ?? "01"}T00:00Z`);
  if (Number.isNaN(date.getTime())) return period;
  return day ? DAYS.format(date).replace(/^(\w+) /, "$1, ") : MONTHS.format(date);
}

/** When a photo was taken, in the local time of its place: "Sunday, 4 August 2019, 15:22". */
export function takenText(taken) {
  const time = /T(\d\d:\d\d)/.exec(taken);
  return time ? `${periodName(taken)}, ${time[1]}` : periodName(taken);
}

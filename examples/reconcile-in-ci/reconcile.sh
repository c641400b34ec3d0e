#!/bin/sh
# Compares records.csv with the chain. Exit code 0: all agree. 1: something differs. 2: it could not run.
set -u
RECORDS=${1:-records.csv}
REPORT=${2:-report}
QUITTANCE=${QUITTANCE:-quittance}

if ! command -v ${QUITTANCE%% *} > /dev/null; then
  echo "In a clone, run: export QUITTANCE='npm run --silent quittance --'. Elsewhere, install the package quittance."
  exit 2
fi
$QUITTANCE reconcile --source "$RECORDS" --out "$REPORT"
CODE=$?

case $CODE in
  0) echo "All records agree with the chain." ;;
  1) echo "Records differ from the chain. Read $REPORT/report.html." && head -n 20 "$REPORT/breaks.csv" ;;
  *) echo "The comparison could not run. The message above says why." && CODE=2 ;;
esac
exit $CODE

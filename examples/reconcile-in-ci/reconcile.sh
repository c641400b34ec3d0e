#!/bin/sh
# Compares records.csv with the chain. Exit code 0: all agree. 1: something differs. 2: it could not run.
set -u
RECORDS=${1:-records.csv}
REPORT=${2:-report}

quittance reconcile --source "$RECORDS" --out "$REPORT"
CODE=$?

case $CODE in
  0) echo "All records agree with the chain." ;;
  1) echo "Records differ from the chain. Read $REPORT/report.html." && head -n 20 "$REPORT/breaks.csv" ;;
  *) echo "The comparison could not run. Check ETH_RPC_URL." ;;
esac
exit $CODE

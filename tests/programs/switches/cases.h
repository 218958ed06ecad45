case 1: return 10;
case 2:
  n += 5; // @added
  return n;

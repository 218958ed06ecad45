#include <stdio.h>
#include <stdlib.h>

int straight(int a) {
    a += 3;
    return a * 2;
}

int if_only(int a) {
    if (a > 2)
        a = 7;
    return a;
}

int if_else(int a) {
    int r;
    if (a > 2)
        r = 7;
    else
        r = a;
    return r + 1;
}

int nested_if(int a, int b) {
    int r = 0;
    if (a > 0) {
        if (b > 0)
            r = 1;
        else
            r = 2;
    } else if (b > 3) {
        r = 3;
    }
    if (r > 1)
        r += b;
    return r;
}

int and_or(int a, int b, int c) {
    int r = 1;
    if ((a > 0 && b > 0) || c > 0)
        r = 2;
    return r;
}

int early_return(int a) {
    if (a < 0)
        return -1;
    if (a == 0)
        return 0;
    if (a > 100)
        return 2;
    return 1;
}

int switch_break(int a) {
    int r = 0;
    switch (a) {
    case 0:
        r = 5;
        break;
    case 1:
    case 2:
        r = 6;
        break;
    case 7:
        r = 1;
    case 8:
        r += 2;
        break;
    default:
        r = 9;
    }
    return r;
}

int while_loop(int a) {
    int n = 0;
    while (a > 0) {
        a -= 2;
        n++;
    }
    return n;
}

int do_loop(int a) {
    int n = 0;
    do {
        a -= 2;
        n++;
    } while (a > 0);
    return n;
}

int for_loop(int a) {
    int n = 0;
    for (int i = 0; i < a; i++)
        n += i;
    return n;
}

int for_if(int a) {
    int n = 0;
    for (int i = 0; i < a; i++) {
        if (i % 3 == 0)
            n += 2;
        else
            n += 5;
    }
    return n;
}

int break_continue(int a) {
    int n = 0;
    for (int i = 0; i < a; i++) {
        n++;
        if (i == 1)
            continue;
        if (n > 4)
            break;
        n += i;
    }
    return n;
}

int while_and(int a, int b) {
    int n = 0;
    while (a > 0 && b > 0) {
        a -= 1;
        b -= 2;
        n++;
    }
    return n;
}

int nested_loops(int a, int b) {
    int n = 0;
    for (int i = 0; i < a; i++) {
        for (int j = 0; j < b; j++)
            n += i * j;
        n++;
    }
    return n;
}

int two_loops(int a) {
    int n = 0;
    while (a > 10) {
        a -= 3;
        n++;
    }
    while (a > 0) {
        a--;
        n += 2;
    }
    return n;
}

int goto_loop(int a) {
    int n = 0;
again:
    n++;
    if (a > 5) {
        a -= 2;
        goto again;
    }
    if (n > 7)
        goto out;
    n += 100;
out:
    return n;
}

int forever(int a) {
    int n = 0;
    for (;;) {
        n++;
        if (n > a)
            break;
        n += n % 2;
    }
    return n;
}

int factorial(int a) {
    if (a <= 1)
        return 1;
    return a * factorial(a - 1);
}

int ternary(int a, int b) {
    int m = a > b ? a : b;
    return m + 1;
}

int search(const int *values, int from, int to, int key) {
    int low = from;
    int high = to - 1;
    while (low <= high) {
        int mid = (low + high) >> 1;
        int value = values[mid];
        if (value < key)
            low = mid + 1;
        else if (value > key)
            high = mid - 1;
        else
            return mid;
    }
    return -1;
}

int switch_loop(const char *text) {
    int state = 0;
    while (*text) {
        switch (state) {
        case 0:
            if (*text == 'a')
                state = 1;
            break;
        case 1:
            state = *text == 'b' ? 2 : 0;
            break;
        default:
            return state;
        }
        text++;
    }
    return state;
}

int into_loop(int a) {
    int n = 0;
    if (a % 2)
        goto middle;
    while (a > 0) {
        n += 2;
    middle:
        n++;
        a--;
    }
    return n;
}

int calls(int a) {
    int n = abs(a);
    while (n > 9)
        n = abs(n - 4);
    return abs(n) + 1;
}

int value_and(int a, int b) {
    int r = a > 0 && b > 0;
    return r + 2;
}

int step(int a) {
    return a - 4;
}

int call_in_loop(int a) {
    int n = 0;
    while (a > 0) {
        a = step(a);
        n++;
    }
    return n;
}

int do_with_for(int a, int b) {
    int n = 0;
    do {
        for (int i = 0; i < b; i++)
            n += i;
        a--;
    } while (a > 0 && n < 50);
    return n;
}

int for_with_do(int a, int b) {
    int n = 0;
    for (int i = 0; i < a && n < 40; i++) {
        do {
            n += 2;
            b = step(b);
        } while (n < 20 && b > 0);
    }
    return n;
}

int while_if(int a, int b) {
    int n = 0;
    while (a > 0) {
        a--;
        if (a > b)
            n++;
        else
            n += 2;
    }
    return n;
}

int while_switch(int a) {
    int n = 0;
    while (n < 60) {
        switch (a++ % 4) {
        case 0:
            n += 3;
            break;
        case 1:
            continue;
        case 2:
            if (n > 40)
                return a;
            n++;
        default:
            n += 9;
        }
    }
    return n;
}

int if_continue(int a) {
    int n = 0;
    while (n < 20) {
        n += a;
        if (n % 2) {
            if (n > 9)
                a++;
            continue;
        }
        n++;
    }
    return n;
}

int main(void) {
    static const int values[] = {1, 4, 6, 9, 12, 15, 21};
    int sum = straight(1) + if_only(1) + if_else(3) + if_else(1);
    sum += nested_if(1, 0) + nested_if(0, 4) + nested_if(0, 0);
    sum += and_or(1, 1, 0) + and_or(1, 0, 0) + and_or(0, 0, 1);
    sum += early_return(-4) + early_return(7) + early_return(107);
    sum += switch_break(2) + switch_break(7) + switch_break(30);
    sum += while_loop(0) + while_loop(2);
    sum += do_loop(1) + do_loop(3);
    sum += for_loop(0) + for_loop(1) + for_loop(4);
    sum += for_if(1) + for_if(3);
    sum += break_continue(3) + break_continue(10);
    sum += while_and(2, 9) + while_and(3, 2) + while_and(0, 1);
    sum += nested_loops(0, 1) + nested_loops(2, 1) + nested_loops(1, 0);
    sum += two_loops(9) + two_loops(13);
    sum += goto_loop(3) + goto_loop(7) + goto_loop(30);
    sum += forever(0) + forever(4);
    sum += factorial(5);
    sum += ternary(2, 1);
    sum += search(values, 0, 7, 4) + search(values, 0, 7, 13);
    sum += switch_loop("aab") + switch_loop("xabx");
    sum += into_loop(3) + into_loop(2);
    sum += calls(-20);
    sum += value_and(1, 1) + value_and(1, 0);
    sum += call_in_loop(6) + do_with_for(1, 2) + do_with_for(3, 1);
    sum += for_with_do(2, 9) + for_with_do(1, 3);
    sum += while_if(4, 2) + while_if(0, 1) + while_switch(0) + while_switch(2);
    sum += if_continue(3) + if_continue(2);
    printf("%d\n", sum);
    return 0;
}
